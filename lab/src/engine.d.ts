// The engine as wasm-bindgen exports it. The generated files lie in `src/engine`, which git ignores, so this says what
// the page relies on.
declare module "*/engine/incastle_wasm.js" {
  export default function init(input: { module_or_path: WebAssembly.Module }): Promise<unknown>;
  export function version(): string;
  export function schema(): string;
  export function check(text: string, overrides: string): string;
  export class Run {
    constructor(text: string, overrides: string);
    picture(): string;
    advance(until_s: number, events: number): number;
    is_done(): boolean;
    packet_hops(): number;
    samples(): Samples;
    finish(): Outcome;
    free(): void;
  }
  export class Samples {
    readonly queue_time_s: Float64Array;
    readonly queue_port: Uint32Array;
    readonly queue_packets: Uint32Array;
    readonly queue_bytes: Float64Array;
    readonly window_time_s: Float64Array;
    readonly window_flow: Uint32Array;
    readonly window_bytes: Float64Array;
    readonly rate_bit_s: Float64Array;
    readonly flow_names: string;
    readonly port_bytes: Float64Array;
    readonly port_marks: Float64Array;
    readonly port_drops: Float64Array;
    readonly port_paused_s: Float64Array;
    free(): void;
  }
  export class Explainer {
    overrides(flow: string, neighbours: boolean): string;
    explain(recorded: Outcome, flow: string, neighbours: boolean): string | undefined;
    free(): void;
  }
  export class Outcome {
    readonly digest: string;
    readonly totals: string;
    readonly notes: string;
    readonly table_names: string;
    table(name: string): Uint8Array;
    explainer(): Explainer;
    readonly interrupted: boolean;
    free(): void;
  }
}
