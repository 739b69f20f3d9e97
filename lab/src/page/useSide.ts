// Access to a side from components: reading `revision` makes them follow a recording that grows in place.
import { sides } from "../state/lab";
import type { SideName } from "../state/lab";
import type { Recording } from "../runs/recording";

export function recordingOf(side: SideName): Recording | undefined {
  void sides[side].revision.value;
  return sides[side].recording.value;
}
