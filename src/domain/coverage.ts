// Which of an agent's tools a contract governs. Pure.
import { compileGlob } from 'reeve-agent/rules';
import type { AssembledContract } from './deployment.ts';
import type { AgentManifest } from './event.ts';
import type { Mode } from './library.ts';

/** What a document says of one of its contracts. */
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
    assembled.flatMap(({ contract_id, entries = [] }) =>
      entries.map((entry) => [entry, contract_id] as const),
    ),
  );
  return contracts.map((contract) => {
    const name = names.get(contract.id);
    return name === undefined || contract.name !== contract.id ? contract : { ...contract, name };
  });
}

const isGlob = (pattern: string): boolean => /[*?[]/.test(pattern);
/** What a glob's matches begin with. */
const headOf = (pattern: string): string => /^[^*?[]*/.exec(pattern)?.[0] ?? '';

/** Whether some tool may fit a pattern of both. Of two globs only different beginnings tell them apart. */
export const mayOverlap = (some: readonly string[], others: readonly string[]): boolean =>
  some.some((a) =>
    others.some((b) => {
      if (isGlob(a) && isGlob(b)) return headOf(a).startsWith(headOf(b)) || headOf(b).startsWith(headOf(a));
      return a === b || compileGlob(a)(b) || compileGlob(b)(a);
    }),
  );

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
  readonly matches: (tool: string) => boolean;
}

/** The contracts that count for some agents, in order. */
export interface Ruling {
  readonly matchers: readonly Matcher[];
}

const localName = 'local';

const matcher = (governing: Governing, patterns: readonly string[]): Matcher => {
  const tests = patterns.map((pattern) =>
    /[*?]/.test(pattern) ? compileGlob(pattern) : (tool: string) => tool === pattern,
  );
  return { ...governing, matches: (tool) => tests.some((test) => test(tool)) };
};

export const rulingOf = (bundleName: string, contracts: readonly DeclaredContract[]): Ruling => ({
  matchers: contracts
    .filter(({ enabled, tools }) => enabled && tools.length > 0)
    .map(({ name, type, mode, tools }) =>
      matcher({ contractName: name, contractType: type, mode, bundleName, source: 'console' }, tools),
    ),
});

/** What an agent said of the rules that it loaded itself. */
export const rulingOfManifest = ({ contracts }: Pick<AgentManifest, 'contracts'>): Ruling => ({
  matchers: contracts.map(({ id, type, tool, mode }) =>
    matcher(
      {
        contractName: id,
        contractType: type,
        mode: mode === 'observe' ? 'observe' : 'enforce',
        bundleName: localName,
        source: 'local',
      },
      typeof tool === 'string' ? [tool] : tool,
    ),
  ),
});

export const joined = (rulings: readonly Ruling[]): Ruling => ({
  matchers: rulings.flatMap(({ matchers }) => matchers),
});

/** The first contract that enforces decides what is shown, else the first that observes. */
export function governing({ matchers }: Ruling, tool: string): Governing | null {
  const found = matchers.filter(({ matches }) => matches(tool));
  return found.find(({ mode }) => mode === 'enforce') ?? found[0] ?? null;
}

export const statusOfTool = (by: Governing | null): ToolStatus =>
  by === null ? 'ungoverned' : by.mode === 'enforce' ? 'enforced' : 'observed';

/** Whole percents of tools that are enforced; 100 of none. */
export const coveragePercent = (enforced: number, total: number): number =>
  total === 0 ? 100 : Math.round((100 * enforced) / total);
