// The link: scenario, settings and view as the part of an address behind `#`. It is JSON, deflated, as base64 for
// addresses, behind the number of this format. Nothing of it ever reaches a server.
import { deflateSync, inflateSync, strFromU8, strToU8 } from "fflate";
import type { Settings } from "../state/lab";
import { base64Url, bytesOfBase64Url } from "./base64";

const FORMAT = 1;

/** A checksum comes first: a link that lost a letter must not run as another scenario. */
const CHECK_BYTES = 4;

export interface Shared {
  /** Id of the experiment in the gallery, for its words and sliders. */
  experiment?: string;
  text: string;
  a: Settings;
  b: Settings;
  comparing: boolean;
  time_s: number;
  playing: boolean;
  speed: number;
  zoom?: readonly [number, number];
  ports?: readonly string[];
  flows?: readonly string[];
  /** The code of the controllers that the scenario names. */
  code?: string;
}

export type Opened =
  { kind: "nothing" } | { kind: "shared"; shared: Shared } | { kind: "problem"; message: string };

export function linkOf(shared: Shared): string {
  const bytes = strToU8(JSON.stringify(shared));
  const packed = deflateSync(bytes, { level: 9 });
  const whole = new Uint8Array(CHECK_BYTES + packed.length);
  new DataView(whole.buffer).setUint32(0, checksum(bytes));
  whole.set(packed, CHECK_BYTES);
  return `#${FORMAT}.${base64Url(whole)}`;
}

export function opened(hash: string): Opened {
  if (hash === "" || hash === "#") return { kind: "nothing" };
  const match = /^#(\d+)\.([\w-]+)$/.exec(hash);
  if (match && Number(match[1]) > FORMAT) {
    return {
      kind: "problem",
      message:
        "This link was made by a newer version of the lab. " +
        "Open it with that version: pip install --upgrade incastle, then incastle lab.",
    };
  }
  const shared = match && Number(match[1]) === FORMAT ? parsed(match[2] ?? "") : undefined;
  return shared ? { kind: "shared", shared } : { kind: "problem", message: BROKEN };
}

const BROKEN =
  "This link is damaged: a part of it is missing, as happens when a mail breaks it into lines. " +
  "Copy the whole link again. The page shows what it showed before.";

function parsed(packed: string): Shared | undefined {
  try {
    const whole = bytesOfBase64Url(packed);
    const bytes = inflateSync(whole.subarray(CHECK_BYTES));
    if (new DataView(whole.buffer).getUint32(0) !== checksum(bytes)) return undefined;
    const value: unknown = JSON.parse(strFromU8(bytes));
    return isShared(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Adler-32 (RFC 1950). */
function checksum(bytes: Uint8Array): number {
  let a = 1;
  let b = 0;
  for (const byte of bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return ((b << 16) | a) >>> 0;
}

function isShared(value: unknown): value is Shared {
  if (!isRecord(value)) return false;
  return (
    typeof value.text === "string" &&
    isSettings(value.a) &&
    isSettings(value.b) &&
    typeof value.comparing === "boolean" &&
    typeof value.playing === "boolean" &&
    Number.isFinite(value.time_s) &&
    Number.isFinite(value.speed) &&
    (value.experiment === undefined || typeof value.experiment === "string") &&
    (value.code === undefined || typeof value.code === "string") &&
    (value.zoom === undefined || isZoom(value.zoom)) &&
    (value.ports === undefined || isNames(value.ports)) &&
    (value.flows === undefined || isNames(value.flows))
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSettings(value: unknown): value is Settings {
  return isRecord(value) && Object.values(value).every((one) => typeof one === "string");
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function isZoom(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value.every(Number.isFinite);
}
