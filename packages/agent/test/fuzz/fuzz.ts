// A run of the agent's side: random calls against random contracts through each surface. A call that ran, although the
// independent reference refuses it, is a finding. All choices depend on the seed and the number of the step.
import fc from 'fast-check';
import { random as randomOf } from '../../../../test/random.ts';
import { decide } from '../reference/decide.ts';
import { bundle, call, type GeneratedBundle } from '../reference/generator.ts';
import type { Mapping, ReferenceCall } from '../reference/interpreter.ts';
import {
  type ExecutedCall,
  gateSurface,
  guardSurface,
  proxySurface,
  type Surface,
  type World,
} from './surfaces.ts';

export interface AgentFuzzOptions {
  readonly seed: string;
  /** Calls that are sent through each surface. */
  readonly steps: number;
  /** Called with each finding as it appears. */
  readonly onFinding?: (finding: AgentFinding) => void;
  /** Called after each session. */
  readonly onProgress?: (progress: AgentProgress) => void;
  /** Opens the surfaces of a session; default: guard, proxy and gate. */
  readonly openSurfaces?: (world: World, others: readonly Mapping[]) => readonly Surface[];
}

export interface AgentProgress {
  /** Calls that were sent through each surface so far. */
  readonly steps: number;
  readonly findings: number;
}

export interface AgentFinding {
  readonly surface: string;
  /** The number of the step; the same seed repeats it. */
  readonly step: number;
  readonly problem: string;
  readonly contracts: string;
  /** The text or value that was sent. */
  readonly sent: string;
  readonly executed: ExecutedCall | null;
}

export interface AgentReport {
  readonly seed: string;
  readonly steps: number;
  /** Calls that ran, and calls that did not, through each surface. */
  readonly ran: { readonly [surface: string]: number };
  readonly refused: { readonly [surface: string]: number };
  readonly findings: readonly AgentFinding[];
}

/** Calls of one session, against the same contracts. */
const callsOfSession = 8;

/**
 * Contracts that hold unless their own mode says otherwise: an agent in observe mode refuses nothing. Variables of the
 * environment, which the reference does not read, are absent.
 */
const enforced = bundle.map((one) => {
  const text = JSON.stringify(one.document).replaceAll('"env.PATH"', '"env.REEVE_FUZZ_ABSENT"');
  const document = JSON.parse(text) as GeneratedBundle['document'];
  return { ...one, document: { ...document, defaults: { mode: 'enforce' } } };
});

const session = fc.record({
  bundle: enforced,
  calls: fc.array(call, { minLength: callsOfSession, maxLength: callsOfSession }),
  grants: fc.boolean(),
});

const allSurfaces = (world: World, others: readonly Mapping[]): readonly Surface[] => [
  guardSurface(world, others),
  proxySurface(world),
  gateSurface(world),
];

/** The reason why a call must not have run; null when it may. */
function refusalOf(
  { document }: GeneratedBundle,
  { environment, principal, grants }: World,
  { tool, args }: ExecutedCall,
  surface: Surface,
  earlier: readonly string[],
): string | null {
  // Calls that were refused count as attempts too: those that ran are fewer.
  const counters = {
    attempts: earlier.length + 1,
    executions: earlier.length,
    toolExecutions: earlier.filter((name) => name === tool).length,
  };
  const { verdict, name } = decide(document, { tool, args, environment, principal }, counters);
  if (verdict === 'allow' || (verdict === 'approve' && grants && surface.asks)) return null;
  return `${verdict} by ${name}`;
}

export async function fuzzAgent({
  seed,
  steps,
  onFinding,
  onProgress,
  openSurfaces = allSurfaces,
}: AgentFuzzOptions): Promise<AgentReport> {
  const findings: AgentFinding[] = [];
  const ran: { [surface: string]: number } = {};
  const refused: { [surface: string]: number } = {};
  for (let first = 0; first < steps; first += callsOfSession) {
    const random = randomOf(`${seed}/${first}`);
    const [drawn] = fc.sample(session, { seed: random.int(2 ** 31), numRuns: 1 });
    if (!drawn) throw new Error('The generator has drawn nothing.');
    const [{ environment = null, principal = null } = {}] = drawn.calls as Partial<ReferenceCall>[];
    const document = JSON.stringify(drawn.bundle.document);
    const world: World = {
      document,
      environment,
      principal: principal as Mapping | null,
      grants: drawn.grants,
    };
    const others = drawn.calls.map(({ args }) => args);
    for (const surface of openSurfaces(world, others)) {
      await playSession(surface, world, drawn.bundle, drawn.calls.slice(0, steps - first), first);
      surface.close();
    }
    onProgress?.({ steps: Math.min(first + callsOfSession, steps), findings: findings.length });
  }
  return { seed, steps, ran, refused, findings };

  async function playSession(
    surface: Surface,
    world: World,
    contracts: GeneratedBundle,
    calls: readonly ReferenceCall[],
    first: number,
  ): Promise<void> {
    const random = randomOf(`${seed}/${first}/${surface.name}`);
    const earlier: string[] = [];
    for (const [i, one] of calls.entries()) {
      const { executed, sent, fault } = await surface.call(one, random);
      const counts = executed.length > 0 ? ran : refused;
      counts[surface.name] = (counts[surface.name] ?? 0) + 1;
      const report = (problem: string, wrong: ExecutedCall | null): void => {
        const finding = {
          surface: surface.name,
          step: first + i,
          problem,
          contracts: world.document,
          sent,
          executed: wrong,
        };
        findings.push(finding);
        onFinding?.(finding);
      };
      if (fault !== null) report(fault, null);
      for (const each of executed) {
        const refusal = refusalOf(contracts, world, each, surface, earlier);
        if (refusal === null) continue;
        report(refusal, each);
        break;
      }
      if (executed[0]) earlier.push(executed[0].tool);
    }
  }
}
