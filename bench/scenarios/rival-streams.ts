// Rivals in the scenarios of streams: as many streams and as large frames as the hub has. A rival that loses a frame
// has no time, and its loss is a figure.
import type { StreamRival, StreamServer } from '../rivals/rival.ts';
import { type FigureForm, figureOf } from '../suite/figures.ts';
import type { RivalResult } from '../suite/results.ts';
import { lostFramesId } from '../suite/standings.ts';
import { medianOf } from '../suite/statistics.ts';
import { StreamClient } from '../suite/streams.ts';

/** A frame that a rival's stream has not read by then is lost. */
const defaultLossMs = 30_000;

interface Contestant {
  readonly rival: StreamRival;
  readonly server: StreamServer;
  readonly client: StreamClient;
  readonly version: string;
  /** Milliseconds until the last delivery; null where a frame was lost. */
  readonly times: (number | null)[];
  readonly losses: number[];
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Starts a rival, runs `work` and stops the rival.
 * @returns the result, or the reason why there is none: a rival never fails the hub's run
 */
export async function withRival<Result>(
  rival: StreamRival,
  work: (server: StreamServer, client: StreamClient) => Promise<Result>,
): Promise<{ readonly result: Result; readonly version: string } | { readonly absent: string }> {
  const installation = rival.locate();
  if ('absent' in installation) return installation;
  const client = new StreamClient();
  let server: StreamServer | null = null;
  try {
    server = await rival.start(installation);
    return { result: await work(server, client), version: installation.version };
  } catch (error) {
    return { absent: `it failed: ${messageOf(error)}` };
  } finally {
    client.stop();
    await server?.stop();
  }
}

export interface FrameRounds {
  readonly agents: number;
  readonly frameBytes: number;
  readonly framesOfRound: number;
  /** Default: 30 s */
  readonly lossMs?: number;
}

/** Rivals that hold their streams for the whole scenario, and are measured in turns with the hub. */
export class RivalFanout {
  readonly #form: FrameRounds;
  readonly #contestants = new Map<string, Contestant>();
  readonly #absences = new Map<string, string>();
  readonly #names: readonly string[];

  private constructor(form: FrameRounds, names: readonly string[]) {
    this.#form = form;
    this.#names = names;
  }

  /** Starts the rivals and opens their streams. */
  static async open(rivals: readonly StreamRival[], form: FrameRounds): Promise<RivalFanout> {
    const fanout = new RivalFanout(
      form,
      rivals.map(({ name }) => name),
    );
    for (const rival of rivals) await fanout.#open(rival);
    return fanout;
  }

  async #open(rival: StreamRival): Promise<void> {
    const installation = rival.locate();
    if ('absent' in installation) return void this.#absences.set(rival.name, installation.absent);
    const client = new StreamClient();
    try {
      const server = await rival.start(installation);
      const { version } = installation;
      this.#contestants.set(rival.name, { rival, server, client, version, times: [], losses: [] });
      const { port, request, marker } = server;
      await client.open({ port, count: this.#form.agents, request, marker });
    } catch (error) {
      client.stop();
      await this.#dismiss(rival.name, error);
    }
  }

  async #dismiss(name: string, error: unknown): Promise<void> {
    this.#absences.set(name, `it failed: ${messageOf(error)}`);
    const contestant = this.#contestants.get(name);
    this.#contestants.delete(name);
    contestant?.client.stop();
    await contestant?.server.stop();
  }

  /** @param isWarmUp the frames are sent and leave no figure */
  async measureRound(isWarmUp: boolean): Promise<void> {
    for (const contestant of [...this.#contestants.values()]) {
      try {
        const { lastMs, lost } = await this.#measureFrames(contestant);
        if (isWarmUp) continue;
        contestant.times.push(lost > 0 ? null : lastMs);
        contestant.losses.push(lost);
      } catch (error) {
        await this.#dismiss(contestant.rival.name, error);
      }
    }
  }

  async #measureFrames({ server, client }: Contestant) {
    const { frameBytes, framesOfRound, lossMs = defaultLossMs } = this.#form;
    const times: number[] = [];
    let lost = 0;
    for (let n = 0; n < framesOfRound; n++) {
      const awaitDelivery = await client.expectWithin(frameBytes, lossMs);
      const began = process.hrtime.bigint();
      const published = server.publish(frameBytes);
      const [delivery] = await Promise.all([awaitDelivery(), published]);
      lost += delivery.lost;
      times.push(Number(delivery.at - began) / 1e6);
    }
    return { lastMs: medianOf(times), lost };
  }

  /** @param form of the hub's figure, which the rival's has too */
  results(form: FigureForm): RivalResult[] {
    return this.#names.map((name): RivalResult => {
      const contestant = this.#contestants.get(name);
      if (!contestant) return { name, absent: this.#absences.get(name) ?? 'it was not measured' };
      const { version, times, losses } = contestant;
      const lostFrames = { id: lostFramesId, what: 'frames that streams did not get', unit: 'frames' };
      return {
        name,
        version,
        figures: [
          figureOf({ ...form, rounds: times }),
          figureOf({ ...lostFrames, better: 'lower', rounds: losses }),
        ],
      };
    });
  }

  async stop(): Promise<void> {
    for (const { client, server } of this.#contestants.values()) {
      client.stop();
      await server.stop();
    }
    this.#contestants.clear();
  }
}
