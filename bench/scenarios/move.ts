// The copy of `reeve move` from an embedded hub's folder into MongoDB, beside a bare loop of insertMany of the same
// documents.
import { batchSize } from '../batch.ts';
import { startServices } from '../services.ts';
import { figureOf, maxOtherCores } from '../suite/figures.ts';
import { makeTemporaryFolder } from '../suite/folder.ts';
import { makeTenants, openHub } from '../suite/hub.ts';
import { coresOf, loadOf, medianOrNull } from '../suite/load.ts';
import { Loader } from '../suite/loader.ts';
import { startUsage, type Usage, waitUntilQuiet } from '../suite/machine.ts';
import type { Figure, Scenario } from '../suite/results.ts';
import { MoveRates, type MoveRound } from './move-rates.ts';
import type { RunOptions } from './scenario.ts';

const insertText = 'a bare loop of insertMany of the same documents';

/** A stopped hub with events of runs. */
async function fillFolder(keptFolder: string, options: RunOptions): Promise<void> {
  const hub = await openHub(options, { keptFolder });
  const loader = new Loader();
  try {
    const { keys } = await makeTenants(hub, 1);
    const maxBatches = Math.max(1, Math.ceil(options.rows / batchSize));
    const order = { type: 'closed', origin: hub.url, keys, seed: options.seed } as const;
    await loader.load({ ...order, connections: 32, seconds: 36_000, agentsInTurn: true, maxBatches });
  } finally {
    loader.stop();
    await hub.stop();
  }
}

function figuresOf(rounds: readonly MoveRound[], isDisturbed: boolean): Figure[] {
  const form = { unit: '1/s', better: 'higher', isDisturbed } as const;
  return [
    figureOf({
      ...form,
      id: 'move.copy',
      what: 'documents that a move writes',
      rounds: rounds.map(({ copied }) => copied),
      bound: { what: insertText, rounds: rounds.map(({ inserted }) => inserted) },
      target: { at_least: 0.5, of: 'ratio' },
    }),
    figureOf({
      ...form,
      id: 'move.whole',
      what: 'documents that a move writes, indexes and compares',
      rounds: rounds.map(({ moved }) => moved),
    }),
    figureOf({
      ...form,
      id: 'move.check',
      what: 'documents that a move indexes, reads and compares',
      rounds: rounds.map(({ checked }) => checked),
    }),
  ];
}

export async function runMove(options: RunOptions): Promise<Scenario> {
  const { rounds: count, rows, quiet, report } = options;
  report('starting MongoDB and Redis', 0);
  const { mongoUrl, redisUrl, stop } = await startServices();
  const temporary = makeTemporaryFolder();
  const folder = temporary.path;
  const rates = new MoveRates();
  const rounds: MoveRound[] = [];
  const usages: Usage[] = [];
  try {
    report(`storing ${rows} events`, 0);
    await fillFolder(folder, options);
    for (let n = 0; n < count; n++) {
      await waitUntilQuiet(quiet);
      const endUsage = startUsage(rates.pid, []);
      rounds.push(await rates.measure({ folder, mongoUrl, redisUrl, isBoundFirst: n % 2 === 1 }));
      usages.push(endUsage());
      report(`round ${n + 1} of ${count}`, (n + 1) / count);
    }
  } finally {
    rates.stop();
    await stop();
    temporary.remove();
  }
  // The servers are other work to the suite. They may use a core.
  const others = medianOrNull(usages.map((usage) => coresOf(usage.otherMs, usage)));
  const isDisturbed = others !== null && others > 1 + maxOtherCores;
  return {
    name: 'move',
    parameters: { rows, documents: rounds[0]?.documents ?? 0 },
    skipped: null,
    limited_by: isDisturbed ? 'others' : 'none',
    load: loadOf(usages),
    figures: figuresOf(rounds, isDisturbed),
    rivals: [],
  };
}
