// Loads the code of controllers into the run worker, after everything that leads out of it has been removed.
import { bridge } from "./bridge";
import type { Class } from "./bridge";
import { Controller } from "./controller";
import { origin } from "./origin";
import { hide, script } from "./source";

declare function importScripts(...addresses: string[]): void;

const load = typeof importScripts === "function" ? importScripts : undefined;

/** Defines what the engine calls for a run. Throws where the code cannot be read. */
export function loadControllers(source: string): void {
  const classes = new Map<string, Class>();
  const define = (all: Record<string, Class>): void => {
    for (const [name, one] of Object.entries(all)) classes.set(name, one);
  };
  const address = URL.createObjectURL(new Blob([script(source)], { type: "text/javascript" }));
  const where = (error: Error): string => origin(error, address, source);
  Object.assign(self, { incastle: { Controller, define }, incastle_controllers: bridge(classes, where) });
  hide(self);
  try {
    load?.(address);
  } catch (error) {
    const place = error instanceof Error ? where(error) : "";
    throw new Error(`The code under “Control” cannot be run: ${words(error)}${place}.`, { cause: error });
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Chromium puts the name of its function in front of what the parser found. */
function words(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/^Failed to execute 'importScripts' on 'WorkerGlobalScope': /, "");
}
