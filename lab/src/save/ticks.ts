// Round numbers along an axis.

export function ticks(from: number, to: number, most = 6): number[] {
  const span = to - from;
  if (!(span > 0)) return [from];
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const list: number[] = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to * (1 + 1e-9); i += 1) list.push(i * step);
  return list;
}

/** Powers of ten within a range, for a logarithmic axis. */
export function decades(from: number, to: number): number[] {
  const list: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power += 1)
    list.push(10 ** power);
  return list;
}
