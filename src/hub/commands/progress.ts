// Progress of long work, on standard error: a line that changes in a terminal, else a line every few seconds.
import type { Clock } from '../../shared/ports/clock.ts';
import { say } from './output.ts';

const inTerminalMs = 200;
const elsewhereMs = 5000;

export interface Progress {
  /** @param total 0 while it is not known */
  report(what: string, done: number, total: number): void;
  /** Clears the line. */
  end(): void;
}

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Bytes with their unit, such as `1.5 GiB`. */
export function inWords(bytes: number): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  const value = bytes / 1024 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]}`;
}

/**
 * Says nothing of work that is done sooner than the first line is due.
 * @param words an amount as text; bytes by default
 */
export function createProgress(clock: Pick<Clock, 'monotonic'>, words = inWords): Progress {
  const isTerminal = process.stderr.isTTY === true;
  const every = isTerminal ? inTerminalMs : elsewhereMs;
  let next = clock.monotonic() + every;
  let isVisible = false;
  return {
    report(what, done, total) {
      if (clock.monotonic() < next) return;
      next = clock.monotonic() + every;
      isVisible = true;
      const percent = total > 0 ? `${Math.min(100, Math.floor((100 * done) / total))} %, ` : '';
      const line = `${what}: ${percent}${words(done)}${total > 0 ? ` of ${words(total)}` : ''}`;
      if (isTerminal) process.stderr.write(`\r\u001b[K${line}`);
      else say(line);
    },
    end() {
      if (isVisible && isTerminal) process.stderr.write('\r\u001b[K');
    },
  };
}
