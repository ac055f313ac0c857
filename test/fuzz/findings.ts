// The findings of a run: one entry per kind and place, with the requests that led to it; repeats are counted.
import { appendFileSync } from 'node:fs';

export type Kind =
  | 'server error' // a 5xx other than 503
  | 'stall' // the event loop stood still
  | 'memory'
  | 'leak' // a byte of one tenant at another
  | 'let in' // a credential that should have been refused was not
  | 'too large' // an answer or frame over its bound
  | 'no answer'
  | 'held open' // a connection that is never closed
  | 'malformed' // an answer that is not valid HTTP or WebSocket
  | 'logged' // the hub logged an error
  | 'died';

/** One thing the program did. Filled while it runs. */
export interface Step {
  /** `player:number`: with the seed it says what was sent. */
  readonly name: string;
  /** The fault, in a few words. */
  readonly what: string;
  /** Ms since 1970. */
  readonly startedAt: number;
  endedAt: number | null;
  /** The request, as it was on the wire; its beginning when it was long. */
  sent: string;
  sentBytes: number;
  /** The answer, in a few words. */
  outcome: string;
}

export interface Finding {
  readonly kind: Kind;
  /** Where: a route, or a shape of attack. */
  readonly place: string;
  readonly what: string;
  readonly atSeconds: number;
  count: number;
  /** The worst of all of its kind and place, where they can be compared. */
  worst: number;
  readonly trace: readonly Step[];
}

const keptSteps = 4000;
const shownBytes = 1500;

/** Bytes as text that a terminal can show, cut. */
export function shown(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.subarray(0, shownBytes))
    .toString('latin1')
    .replaceAll('\r\n', '\n')
    .replace(/[^\n\x20-\x7e]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return bytes.length > shownBytes ? `${text}… (${bytes.length} bytes)` : text;
}

export class Findings {
  readonly #found = new Map<string, Finding>();
  readonly #steps: Step[] = [];
  readonly #startedAt = Date.now();
  readonly #file: string | null;
  readonly #told: (finding: Finding) => void;

  /** @param file findings are appended to it, a line of JSON each @param told hears of each finding that is new */
  constructor(file: string | null, told: (finding: Finding) => void = () => {}) {
    this.#file = file;
    this.#told = told;
  }

  /** Notes that something is done; `end` must follow. */
  begin(name: string, what: string, bytes: Uint8Array): Step {
    const step: Step = {
      name,
      what,
      startedAt: Date.now(),
      endedAt: null,
      sent: shown(bytes),
      sentBytes: bytes.length,
      outcome: 'under way',
    };
    this.#steps.push(step);
    if (this.#steps.length > keptSteps) this.#steps.splice(0, keptSteps / 4);
    return step;
  }

  end(step: Step, outcome: string): void {
    step.endedAt = Date.now();
    step.outcome = outcome;
  }

  /** Everything that was under way at some moment between the two (ms since 1970), the largest first. */
  during(from: number, to: number): Step[] {
    return this.#steps
      .filter((step) => step.startedAt <= to && (step.endedAt ?? Number.POSITIVE_INFINITY) >= from)
      .sort((a, b) => b.sentBytes - a.sentBytes);
  }

  /** @param measure the worst is kept, when there is something to compare */
  add(kind: Kind, place: string, what: string, trace: readonly Step[], measure = 0): void {
    const name = `${kind} ${place}`;
    const before = this.#found.get(name);
    if (before) {
      before.count++;
      before.worst = Math.max(before.worst, measure);
      return;
    }
    const finding: Finding = {
      kind,
      place,
      what,
      atSeconds: Math.round((Date.now() - this.#startedAt) / 100) / 10,
      count: 1,
      worst: measure,
      trace: trace.slice(0, 12).map((step) => ({ ...step })),
    };
    this.#found.set(name, finding);
    if (this.#file) appendFileSync(this.#file, `${JSON.stringify(finding)}\n`);
    this.#told(finding);
  }

  get all(): Finding[] {
    return [...this.#found.values()];
  }
}

/** A finding for people: what, then what was sent. */
export function described({ kind, place, what, atSeconds, count, worst, trace }: Finding): string {
  const head = `${kind}: ${place}: ${what} (${count}×${worst > 0 ? `, worst ${worst}` : ''}, first after ${atSeconds} s)`;
  const steps = trace.map(({ name, what: did, sent, outcome }, i) => {
    const line = `  [${name}] ${did} → ${outcome}`;
    return i === 0 ? `${line}\n${sent.trimEnd().replace(/^/gm, '      ')}` : line;
  });
  return [head, ...steps].join('\n');
}
