# Says what rank 0's network did in the last step of a simulated run: how many all-reduces, of how much, and how much
# negotiation. Reads what --trace FILE.json writes:
#   awk -f lessons/trace.awk -f lessons/08_horovod/groups.awk FILE.json
!/"ph":"X"/ || !/"pid":0,/ { next }
field("name") == "forward" { if (field("ts") + 0 > last) last = field("ts") + 0; next }
field("tid") == 1000 && /"name":"(all_reduce|gather)"/ { n++; at[n] = field("ts") + 0; what[n] = field("name"); size[n] = field("bytes") + 0 }
/"name":"from rank 1"/ { asked++; asked_at[asked] = field("ts") + 0; asked_bytes[asked] = field("bytes") + 0 }
END {
  for (i = 1; i <= n; i++) {
    if (at[i] < last || size[i] == 16) continue  # 16 bytes: what DDP's ranks tell each other of a pass
    if (what[i] == "gather") { rounds++; continue }
    groups++; sizes = sizes sprintf(" %.0f", size[i] / 1e6)
  }
  for (i = 1; i <= asked; i++) if (asked_at[i] >= last) bytes += asked_bytes[i]
  print groups " all-reduces of" sizes " MB"
  if (rounds) print rounds " rounds of negotiation, in which rank 1 asks with " bytes " bytes"
}
