// The tools of an agent that a contract governs. Pure.
import { compileGlob } from 'reeve-agent/rules';
import { toolsOfContract, withinPatternBounds } from '../agent/rules/manifest.ts';
import { type AssembledContract, contractIdOf } from '../bundle/record.ts';
import type { Mode } from '../contract/record.ts';
import type { AgentManifest } from '../event/record.ts';

/** A contract as its document declares it. */
export interface DeclaredContract {
  readonly id: string;
  /** Its title, else its id. */
  readonly name: string;
  readonly type: string;
  /** Names and globs; a session contract may name none. */
  readonly tools: readonly string[];
  readonly mode: Mode;
  readonly enabled: boolean;
}

/** The contracts of a composed document under the name of the library's contract that each entry was made of. */
export function libraryContracts(
  contracts: readonly DeclaredContract[],
  assembled: readonly AssembledContract[],
): readonly DeclaredContract[] {
  const names = new Map(
    assembled.flatMap((contract) =>
      (contract.entries ?? []).map((entry) => [entry, contractIdOf(contract)] as const),
    ),
  );
  return contracts.map((contract) => {
    const name = names.get(contract.id);
    return name === undefined || contract.name !== contract.id ? contract : { ...contract, name };
  });
}

const isGlob = (pattern: string): boolean => /[*?[]/.test(pattern);
/** The common start of a glob's matches. */
const headOf = (pattern: string): string => /^[^*?[]*/.exec(pattern)?.[0] ?? '';

/** Pairs of patterns that are compared; more of them are taken to overlap. */
const maxPairs = 10_000;

/** True if a tool can match patterns from two of these lists. Two globs differ only if their starts differ. */
export function mayOverlap(lists: readonly (readonly string[])[]): boolean {
  let pairs = 0;
  for (const [i, some] of lists.entries()) {
    for (const others of lists.slice(i + 1)) {
      pairs += some.length * others.length;
      if (pairs > maxPairs || some.some((a) => others.some((b) => mayFitBoth(a, b)))) return true;
    }
  }
  return false;
}

function mayFitBoth(a: string, b: string): boolean {
  if (isGlob(a) && isGlob(b)) return headOf(a).startsWith(headOf(b)) || headOf(b).startsWith(headOf(a));
  return a === b || compileGlob(a)(b) || compileGlob(b)(a);
}

export type ToolStatus = 'enforced' | 'observed' | 'ungoverned';
/** The order of lists: what is settled first. */
export const toolStatuses = ['enforced', 'observed', 'ungoverned'] as const;

/** The contract that a tool's status comes from. */
export interface Governing {
  readonly contractName: string;
  readonly contractType: string;
  readonly mode: Mode;
  /** The name of the bundle; `local` for rules that only the agent has. */
  readonly bundleName: string;
  readonly source: 'console' | 'local';
}

interface Matcher extends Governing {
  /** Compiles its patterns when it is called first. */
  readonly matches: (tool: string) => boolean;
  /** Characters of its patterns: about the steps that one tool takes. */
  readonly weight: number;
}

/** The contracts that count for some agents, in order. */
export interface Ruling {
  readonly matchers: readonly Matcher[];
}

const localName = 'local';

const testOf = (pattern: string): ((tool: string) => boolean) =>
  /[*?]/.test(pattern) ? compileGlob(pattern) : (tool) => tool === pattern;

const matcher = (governing: Governing, patterns: readonly string[]): Matcher => {
  let tests: readonly ((tool: string) => boolean)[] | null = null;
  return {
    ...governing,
    matches(tool) {
      tests ??= patterns.map(testOf);
      return tests.some((test) => test(tool));
    },
    weight: patterns.reduce((sum, { length }) => sum + length, patterns.length),
  };
};

export const rulingOf = (bundleName: string, contracts: readonly DeclaredContract[]): Ruling => ({
  matchers: contracts
    .filter(({ enabled, tools }) => enabled && tools.length > 0)
    .map(({ name, type, mode, tools }) =>
      matcher({ contractName: name, contractType: type, mode, bundleName, source: 'console' }, tools),
    ),
});

/** The rules that an agent reported in its manifest, up to the manifest's limits. */
export const rulingOfManifest = ({ contracts }: Pick<AgentManifest, 'contracts'>): Ruling => ({
  matchers: withinPatternBounds(contracts).map((contract) =>
    matcher(
      {
        contractName: contract.id,
        contractType: contract.type,
        mode: contract.mode === 'observe' ? 'observe' : 'enforce',
        bundleName: localName,
        source: 'local',
      },
      toolsOfContract(contract),
    ),
  ),
});

export const joined = (rulings: readonly Ruling[]): Ruling => ({
  matchers: rulings.flatMap(({ matchers }) => matchers),
});

/** The first contract that enforces decides what is shown, else the first that observes. */
export function governing({ matchers }: Ruling, tool: string): Governing | null {
  let observing: Governing | null = null;
  for (const one of matchers) {
    if ((one.mode === 'enforce' || observing === null) && one.matches(tool)) {
      if (one.mode === 'enforce') return one;
      observing = one;
    }
  }
  return observing;
}

export const statusOfTool = (by: Governing | null): ToolStatus =>
  by === null ? 'ungoverned' : by.mode === 'enforce' ? 'enforced' : 'observed';

/** Whole percents of tools that are enforced; 100 of none. */
export const coveragePercent = (enforced: number, total: number): number =>
  total === 0 ? 100 : Math.round((100 * enforced) / total);
