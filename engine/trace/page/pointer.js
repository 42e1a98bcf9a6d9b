// Looking around: wheel, drag and keys; what lies under the pointer, in words.

// The messages without which this one could not have been sent, the last first.
function chain_of(message) {
  const chain = new Set([message]);
  for (let at = message; at && at.depth > 1;) {
    const later = at;
    at = run.messages.filter((m) => m.dst === later.src && m.depth === later.depth - 1 &&
      m.arrived <= later.start * (1 + 1e-9)).sort((a, b) => b.arrived - a.arrived)[0];
    if (at) chain.add(at);
  }
  return chain;
}

function distance_to(message, x, y) {
  const {x1, y1, x2, y2} = ends_of(message);
  const length = (x2 - x1) ** 2 + (y2 - y1) ** 2;
  const part = Math.min(1, Math.max(0, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length));
  return Math.hypot(x1 + part * (x2 - x1) - x, y1 + part * (y2 - y1) - y);
}

function item_at(x, y) {
  if (x < gutter || y < axis_height) return null;
  const rank = Math.floor((y - row_top(0)) / row_height);
  const near = 2 / (view.width - gutter) * (view.end - view.start);  // two pixels
  if (rank >= 0 && rank < run.ranks) {
    for (const lane in lanes) {
      for (const item of lanes[lane][rank]) {
        const top = lane_top(rank, lane, item.track);
        if (y >= top && y <= top + heights[lane] && time_of(x) >= item.start - near &&
          time_of(x) <= item.end + near) {
          return item;
        }
      }
    }
  }
  const messages = visible_messages(element('lanes').clientHeight);
  if (messages.length > arrows_max) return null;
  let best = null;
  for (const message of messages) {
    const distance = distance_to(message, x, y);
    if (distance < 5 && (!best || distance < best.distance)) best = {message, distance};
  }
  return best;
}

function words_of_message(m) {
  return [`${m.label} from rank ${m.src} to rank ${m.dst}`,
    `${bytes_text(m.bytes)}, tag ${m.tag}${m.group ? `, group ${m.group}` : ''}`,
    `sent at ${time_text(m.start)}, arrived at ${time_text(m.arrived)} ` +
      `(after ${time_text(m.arrived - m.start)})`,
    `depth ${m.depth}: the ${m.depth > 1 ? `last of a chain of ${m.depth} messages` : 'first of a chain'}`,
    m.where];
}

function words_of_span(s) {
  const doing = ['computes', 'communicates', 'waits'][s.lane] ?? 'waits';
  return [s.name,
    `rank ${s.rank}${s.strand ? `, strand ${s.strand}` : ''} ${doing}`,
    s.blocked ? `since ${time_text(s.start)}, and nothing can end it`
      : `${time_text(s.end - s.start)}, from ${time_text(s.start)} to ${time_text(s.end)}`,
    s.bytes ? bytes_text(s.bytes) : '', s.depth ? `ended by a message of depth ${s.depth}` : '',
    s.where];
}

function show_tip(item, event) {
  const tip = element('tip');
  tip.hidden = !item;
  if (!item) return;
  const words = item.message ? words_of_message(item.message) : words_of_span(item);
  const head = document.createElement('b');
  head.textContent = words[0];
  tip.replaceChildren(head, '\n' + words.slice(1).filter(Boolean).join('\n'));
  const {offsetWidth, offsetHeight} = tip;
  tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - offsetWidth - 8)}px`;
  tip.style.top = `${event.clientY + 18 + offsetHeight > window.innerHeight
    ? event.clientY - offsetHeight - 10 : event.clientY + 18}px`;
}

function listen() {
  const canvas = element('lanes');
  const frame = element('frame');
  let drag = null;
  canvas.addEventListener('pointerdown', (event) => {
    drag = {x: event.clientX, y: event.clientY, start: view.start, end: view.end,
      top: frame.scrollTop, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (drag) {
      const by = event.clientX - drag.x;
      drag.moved = drag.moved || Math.hypot(by, event.clientY - drag.y) > 3;
      if (!drag.moved) return;
      canvas.classList.add('dragged');
      element('tip').hidden = true;
      frame.scrollTop = drag.top - (event.clientY - drag.y);
      const seconds = by / (view.width - gutter - 12) * (drag.end - drag.start);
      look_at(drag.start - seconds, drag.end - seconds);
      return;
    }
    const item = item_at(event.offsetX, event.offsetY);
    show_tip(item, event);
    if (item !== view.hovered) {
      view.hovered = item;
      draw();
    }
  });
  canvas.addEventListener('pointerup', () => {
    if (drag && !drag.moved) {
      view.chain = view.hovered?.message ? chain_of(view.hovered.message) : new Set();
    }
    drag = null;
    canvas.classList.remove('dragged');
    draw();
  });
  canvas.addEventListener('pointerleave', () => {
    element('tip').hidden = true;
    view.hovered = null;
    draw();
  });
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    if (event.shiftKey) {
      frame.scrollTop += event.deltaY || event.deltaX;
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      move(event.deltaX / 800);
    } else {
      zoom(Math.exp(event.deltaY / 500), time_of(event.offsetX));
    }
  }, {passive: false});
  frame.addEventListener('scroll', draw);
  frame.addEventListener('keydown', (event) => {
    const action = {'+': () => zoom(0.7), '=': () => zoom(0.7), '-': () => zoom(1 / 0.7),
      '0': () => look_at(0, run_end), ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15),
      ArrowUp: () => { frame.scrollTop -= row_height; },
      ArrowDown: () => { frame.scrollTop += row_height; }}[event.key];
    if (!action || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    action();
  });
  element('in').onclick = () => zoom(0.7);
  element('out').onclick = () => zoom(1 / 0.7);
  element('all').onclick = () => look_at(0, run_end);
  window.addEventListener('resize', draw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    read_colors();
    show_legend();
    draw();
  });
}
