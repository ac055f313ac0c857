// Reads a tenant's export of events line by line from whichever node is up, as a collector does. Judges nothing:
// check/export.ts does.
import type { Random } from '../../random.ts';
import { eventually } from '../nodes.ts';
import type { Fleet } from './fleet.ts';
import type { Tenant } from './tenant.ts';
import { rest } from './trial.ts';

export interface ExportedLine {
  readonly cursor: string;
  readonly callId: string;
}

interface Line {
  readonly cursor: string;
  readonly type: string;
  readonly data: { readonly call_id: string };
}

/** A body of one line is read as JSON by its caller. */
const linesOf = (body: unknown): readonly Line[] =>
  typeof body === 'string'
    ? body
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Line)
    : [body as Line];

export class ExportReader {
  /** In the order in which they were read. */
  readonly lines: ExportedLine[] = [];
  /** Answers that were lost on their way, and refusals. */
  lostReads = 0;
  readonly #fleet: Fleet;
  readonly #tenant: Tenant;
  readonly #random: Random;

  /** @param random chooses the node and the size of each page */
  constructor(fleet: Fleet, tenant: Tenant, random: Random) {
    this.#fleet = fleet;
    this.#tenant = tenant;
    this.#random = random;
  }

  /** Reads on behind the last line until `signal`. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) if ((await this.#readPage(1)) === 0) await rest(50, signal);
  }

  /** Reads on until nothing is left and `isWhole`, for at most `ms`. */
  async finish(isWhole: () => boolean, ms: number): Promise<void> {
    await eventually(
      'the end of the export',
      async () => ((await this.#readPage(0)) === 0 && isWhole() ? true : undefined),
      ms,
    ).catch(() => {});
  }

  /** Everything behind a cursor, read by another reader. */
  async linesAfter(cursor: string | null): Promise<readonly ExportedLine[]> {
    const reader = new ExportReader(this.#fleet, this.#tenant, this.#random);
    let after = cursor;
    for (;;) {
      const path = `/api/v1/exports/events?limit=1000${after === null ? '' : `&after=${encodeURIComponent(after)}`}`;
      const { output } = await this.#fleet.must('GET', path, { cookie: this.#tenant.cookie });
      const count = reader.#take(output);
      if (count === 0) return reader.lines;
      after = reader.lines.at(-1)?.cursor ?? null;
    }
  }

  /** The number of lines; -1 without an answer. */
  async #readPage(waitSeconds: number): Promise<number> {
    const node = this.#fleet.route(this.#random);
    if (!node) return 0;
    const last = this.lines.at(-1)?.cursor;
    const after = last === undefined ? '' : `&after=${encodeURIComponent(last)}`;
    const path = `/api/v1/exports/events?limit=${1 + this.#random.int(200)}&wait=${waitSeconds}${after}`;
    const { outcome, output } = await this.#fleet.caller.send(node, 'GET', path, {
      cookie: this.#tenant.cookie,
      timeoutMs: 12_000,
    });
    if (outcome === 'ok') return this.#take(output);
    this.lostReads++;
    return -1;
  }

  #take(body: unknown): number {
    if (body === '') return 0;
    const lines = linesOf(body).map(({ cursor, data }) => ({ cursor, callId: data.call_id }));
    this.lines.push(...lines);
    return lines.length;
  }
}
