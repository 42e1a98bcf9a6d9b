#include "engine/checkpoint/train_state.hpp"

namespace lockstep::checkpoint {

Json json_of(const TrainState& state) {
  Json json = {{"step", state.step},
               {"epoch", state.epoch},
               {"taken", state.taken},
               {"seed", state.seed},
               {"notes", state.notes}};
  if (state.loss_scaler) {
    json["loss_scaler"] = {{"scale", state.loss_scaler->scale},
                           {"clean_updates", state.loss_scaler->clean_updates}};
  }
  return json;
}

TrainState train_state_of(const Json& json, const std::string& where) {
  Fields fields(json, where);
  TrainState state{.step = fields.count("step"),
                   .epoch = fields.count("epoch"),
                   .taken = fields.count("taken"),
                   .seed = fields.bits("seed"),
                   .notes = fields.strings("notes")};
  if (const Json* scaler = fields.optional("loss_scaler")) {
    Fields inner(*scaler, where);
    state.loss_scaler = {inner.number("scale"), inner.count("clean_updates")};
    inner.done();
  }
  fields.done();
  return state;
}

}  // namespace lockstep::checkpoint
