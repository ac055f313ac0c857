// Compares a document with its predecessor, contract by contract: stricter, more lenient, or other changes. It compares
// the texts, not decisions, so an uncertain change counts as neither. Pure.
import type { ContractType, JsonObject, Mode } from '../../contract/record.ts';
import { isMapping } from '../../shared/json/mapping.ts';

export interface ComparedContract {
  readonly contractId: string;
  readonly type: ContractType;
  readonly definition: JsonObject;
}

export interface ComparedDocument {
  readonly defaultsMode: Mode;
  readonly contracts: readonly ComparedContract[];
}

/** `neutral`: words for people. */
type Direction = 'same' | 'neutral' | 'tightened' | 'loosened' | 'changed';

export interface ContractChange {
  readonly contractId: string;
  readonly type: ContractType;
  /** The fields that differ, sorted. */
  readonly fields: readonly string[];
}

export interface Impact {
  readonly added: readonly ComparedContract[];
  readonly removed: readonly ComparedContract[];
  readonly tightened: readonly ContractChange[];
  readonly loosened: readonly ContractChange[];
  /** Contracts that are not clearly tightened or loosened, or that differ only in words for people. */
  readonly changed: readonly ContractChange[];
  readonly unchanged: number;
}

/** From the most lenient. */
const effects: readonly unknown[] = ['warn', 'redact', 'approve', 'deny'];
const words: ReadonlySet<string> = new Set(['name', 'description', 'tags', 'message', 'metadata']);
/** Operators of lists, and of numbers, of which more, or a higher number, fits more values. */
const fitsMore: ReadonlySet<string> = new Set(['in', 'contains_any', 'matches_any', 'lt', 'lte']);
const fitsLess: ReadonlySet<string> = new Set(['not_in', 'gt', 'gte']);

const textOf = (value: unknown): string => JSON.stringify(value, sorted) ?? 'undefined';
/** Maps in the order of their keys, so that the order that they are written in does not count. */
function sorted(_key: string, value: unknown): unknown {
  return isMapping(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
}
const same = (one: unknown, other: unknown): boolean => textOf(one) === textOf(other);
const opposite = (direction: Direction): Direction =>
  direction === 'tightened' ? 'loosened' : direction === 'loosened' ? 'tightened' : direction;

/** The common direction of several differences. */
function together(directions: readonly Direction[]): Direction {
  const changed = new Set(directions.filter((direction) => direction !== 'same'));
  const judged = [...changed].filter((direction) => direction !== 'neutral');
  if (judged.length > 1) return 'changed';
  return judged[0] ?? (changed.size > 0 ? 'neutral' : 'same');
}

/** `tightened` when the second holds all of the first and more. */
function grown(before: readonly unknown[], after: readonly unknown[]): Direction {
  const [old, now] = [new Set(before.map(textOf)), new Set(after.map(textOf))];
  const gone = [...old].some((item) => !now.has(item));
  const came = [...now].some((item) => !old.has(item));
  if (gone && came) return 'changed';
  return came ? 'tightened' : gone ? 'loosened' : 'same';
}

const lists = (before: unknown, after: unknown): Direction =>
  Array.isArray(before) && Array.isArray(after) ? grown(before, after) : 'changed';

const numbers = (before: unknown, after: unknown): Direction =>
  typeof before !== 'number' || typeof after !== 'number'
    ? 'changed'
    : after > before
      ? 'tightened'
      : after < before
        ? 'loosened'
        : 'same';

/** A value that fits more calls as it grows, as lists or as numbers. */
const amount = (before: unknown, after: unknown): Direction =>
  typeof before === 'number' ? numbers(before, after) : lists(before, after);

/**
 * Of a condition: `tightened` when it fits all calls that it fitted, and more, so that its contract acts more often.
 */
function conditions(before: unknown, after: unknown): Direction {
  if (same(before, after)) return 'same';
  if (!isMapping(before) || !isMapping(after)) return 'changed';
  const [[key, old] = [], ...others] = Object.entries(before);
  const [[newKey, now] = [], ...newOthers] = Object.entries(after);
  if (key === undefined || key !== newKey || others.length > 0 || newOthers.length > 0) return 'changed';
  if (key === 'any') return lists(old, now);
  if (key === 'all') return opposite(lists(old, now));
  if (key === 'not') return opposite(conditions(old, now));
  if (fitsMore.has(key)) return amount(old, now);
  if (fitsLess.has(key)) return opposite(amount(old, now));
  return isMapping(old) ? conditions(old, now) : 'changed';
}

/** Limits of a session: lower, or more of them, is stricter. */
function limits(before: unknown, after: unknown): Direction {
  if (!isMapping(before) || !isMapping(after)) return 'changed';
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return together(
    [...names].map((name): Direction => {
      const [old, now] = [before[name], after[name]];
      if (same(old, now)) return 'same';
      if (old === undefined) return 'tightened';
      if (now === undefined) return 'loosened';
      return isMapping(old) ? limits(old, now) : opposite(numbers(old, now));
    }),
  );
}

function action(before: unknown, after: unknown): Direction {
  if (!isMapping(before) || !isMapping(after)) return 'changed';
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return together(
    [...names].map((name): Direction => {
      if (same(before[name], after[name])) return 'same';
      if (words.has(name)) return 'neutral';
      return name === 'effect' ? rank(before[name], after[name]) : 'changed';
    }),
  );
}

function rank(before: unknown, after: unknown): Direction {
  const [old, now] = [effects.indexOf(before), effects.indexOf(after)];
  return old === -1 || now === -1 ? 'changed' : numbers(old, now);
}

const toolsOf = ({ tool, tools }: JsonObject): readonly unknown[] =>
  Array.isArray(tools) ? tools : tool === undefined ? [] : [tool];

/** Bounds of a sandbox that name what is allowed: the shorter, the stricter. */
function allowed(before: unknown, after: unknown): Direction {
  if (isMapping(before) && isMapping(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return together([...names].map((name) => allowed(before[name], after[name])));
  }
  if (same(before, after)) return 'same';
  // Without it, nothing is bounded by it.
  if (before === undefined) return 'tightened';
  if (after === undefined) return 'loosened';
  return opposite(lists(before, after));
}

/** Bounds of a sandbox that name what is refused: the longer, the stricter. */
function denied(before: unknown, after: unknown): Direction {
  if (!isMapping(before) && !isMapping(after)) return lists(before ?? [], after ?? []);
  const [old, now] = [isMapping(before) ? before : {}, isMapping(after) ? after : {}];
  const names = new Set([...Object.keys(old), ...Object.keys(now)]);
  return together([...names].map((name) => denied(old[name], now[name])));
}

function field(name: string, before: unknown, after: unknown): Direction {
  if (same(before, after)) return 'same';
  if (words.has(name)) return 'neutral';
  switch (name) {
    case 'when':
      return conditions(before, after);
    case 'then':
      return action(before, after);
    case 'limits':
      return limits(before, after);
    case 'within':
    case 'allows':
      return allowed(before, after);
    case 'not_within':
    case 'not_allows':
      return denied(before, after);
    case 'outside':
      return rank(before ?? 'deny', after ?? 'deny');
    default:
      return 'changed';
  }
}

function compare(
  before: ComparedContract,
  after: ComparedContract,
  modes: readonly [before: Mode, after: Mode],
): { readonly direction: Direction; readonly fields: readonly string[] } {
  const [{ tool: _a, tools: _b, mode: oldMode = modes[0], ...old }, oldTools] = [
    before.definition,
    toolsOf(before.definition),
  ];
  const [{ tool: _c, tools: _d, mode: newMode = modes[1], ...now }, newTools] = [
    after.definition,
    toolsOf(after.definition),
  ];
  const directions = new Map<string, Direction>();
  for (const name of new Set([...Object.keys(old), ...Object.keys(now)])) {
    directions.set(name, field(name, old[name], now[name]));
  }
  // A sandbox that names more tools bounds more; so does every other contract.
  directions.set('tools', grown(oldTools, newTools));
  directions.set(
    'mode',
    same(oldMode, newMode)
      ? 'same'
      : newMode === 'enforce'
        ? 'tightened'
        : newMode === 'observe'
          ? 'loosened'
          : 'changed',
  );
  directions.set('type', before.type === after.type ? 'same' : 'changed');
  return {
    direction: together([...directions.values()]),
    fields: [...directions].flatMap(([name, direction]) => (direction === 'same' ? [] : [name])).sort(),
  };
}

/** @param before null: nothing runs now */
export function impactOf(before: ComparedDocument | null, after: ComparedDocument): Impact {
  const old = new Map((before?.contracts ?? []).map((contract) => [contract.contractId, contract]));
  const now = new Set(after.contracts.map(({ contractId }) => contractId));
  const changes = after.contracts.flatMap((contract) => {
    const oldContract = old.get(contract.contractId);
    if (!oldContract) return [];
    const modes = [before?.defaultsMode ?? 'enforce', after.defaultsMode] as const;
    const { contractId, type } = contract;
    return [{ contractId, type, ...compare(oldContract, contract, modes) }];
  });
  const those = (...directions: readonly Direction[]): readonly ContractChange[] =>
    changes
      .filter(({ direction }) => directions.includes(direction))
      .map(({ contractId, type, fields }) => ({ contractId, type, fields }));
  return {
    added: after.contracts.filter(({ contractId }) => !old.has(contractId)),
    removed: [...old.values()].filter(({ contractId }) => !now.has(contractId)),
    tightened: those('tightened'),
    loosened: those('loosened'),
    changed: those('changed', 'neutral'),
    unchanged: those('same').length,
  };
}
