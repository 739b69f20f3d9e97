// The code of somebody's controllers: which classes it has, and how it becomes a script of the run worker.

/** Classes that derive from `Controller`, by their names in the text. */
export function classNames(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
  return [...code.matchAll(/\bclass\s+([A-Za-z_$][\w$]*)\s+extends\s+Controller\b/g)].flatMap(
    ([, name]) => name ?? [],
  );
}

/** Lines of the script before the text. */
export const LINES_BEFORE = 1;

/** The script: the text has lines of its own, and the names of one run do not meet those of the next. */
export function script(source: string): string {
  return `"use strict"; ((Controller, define) => {\n${source}\n;define({ ${classNames(source).join(", ")} });\n})(incastle.Controller, incastle.define);`;
}

/** What the code of controllers must not have: ways to the page, to the network, to what the browser keeps. */
export const HIDDEN = [
  "postMessage",
  "importScripts",
  "fetch",
  "XMLHttpRequest",
  "WebSocket",
  "WebSocketStream",
  "EventSource",
  "WebTransport",
  "RTCPeerConnection",
  "BroadcastChannel",
  "Worker",
  "SharedWorker",
  "indexedDB",
  "caches",
  "cookieStore",
  "navigator",
  "close",
];

/** Removes these names from a global scope, those that it inherits included. */
export function hide(scope: object): void {
  for (const name of HIDDEN) {
    for (let at: object | null = scope; at; at = Object.getPrototypeOf(at) as object | null) {
      Reflect.deleteProperty(at, name);
    }
    Object.defineProperty(scope, name, { value: undefined });
  }
}
