// Loggers for tests: one that says nothing, one that remembers.
import type { Log } from '../src/shared/ports/log.ts';
import { snakeKeys } from '../src/shared/snake-keys.ts';

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** Remembers warnings and errors. */
export function memoryLog(): Log & { readonly lines: { level: string; message: string; fields: object }[] } {
  const lines: { level: string; message: string; fields: object }[] = [];
  const add = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, message, fields: snakeKeys({ ...fields }) });
  return { lines, debug() {}, info() {}, warn: add('warn'), error: add('error') };
}
