// Definitions of MCP tools as pins compare them: the members of a fingerprint, their canonical text, and the bounds of
// a list. The library and the hub share these rules. Pure: the digest of a text is the caller's.
import { canonicalJson } from '../canonical-json.ts';
import { foldCase } from '../fold.ts';
import { isWellFormed } from '../names.ts';
import { readStrictJson, WrittenNumber } from '../strict-json.ts';

/** Tools of one server, without the instructions. */
export const maxTools = 2000;
/** Bytes of a definition's canonical text in UTF-8. */
export const maxDefinitionBytes = 262_144;
/** Lists and objects within each other, the definition included. */
export const maxDefinitionDepth = 64;
/** Characters. */
export const maxToolName = 256;
/** Characters. */
export const maxServerLabel = 512;

/** The entry of a server's `instructions` among its tools. */
export const instructionsEntry = '(instructions)';

const fingerprintMembers = [
  'name',
  'title',
  'description',
  'inputSchema',
  'outputSchema',
  'annotations',
] as const;

/** Reasons that keep a tool off the list; this set is closed. */
export const toolProblems = [
  'too_many_tools',
  'too_large',
  'too_deep',
  'duplicate_name',
  'unusable_name',
  'unreadable',
] as const;
export type ToolProblem = (typeof toolProblems)[number];

export const problemTexts: { readonly [P in ToolProblem]: string } = {
  too_many_tools: `the server lists more than ${maxTools} tools`,
  too_large: `its definition is larger than ${maxDefinitionBytes} bytes`,
  too_deep: `its definition is nested deeper than ${maxDefinitionDepth} levels`,
  duplicate_name: 'another tool has the same name, or one that differs only in case',
  unusable_name: `its name is empty, longer than ${maxToolName} characters or reserved`,
  unreadable: 'its definition contains text or a number that JSON readers understand differently',
};

export const fingerprintPattern = /^sha256:[0-9a-f]{64}$/;
export const isFingerprint = (text: unknown): text is string =>
  typeof text === 'string' && fingerprintPattern.test(text);

/** @param sha256 hex SHA-256 of a text in UTF-8 */
export const fingerprintOf = (definition: string, sha256: (text: string) => string): string =>
  `sha256:${sha256(definition)}`;

/** A tool, or the instructions, with the text that its fingerprint covers. */
export interface PinnedTool {
  readonly name: string;
  /** RFC 8785 JSON. */
  readonly definition: string;
}

export interface RefusedTool {
  /** As the server wrote it, cut at `maxToolName`; empty if it is no text. */
  readonly name: string;
  readonly problem: ToolProblem;
}

/** The part of one listing that pins compare. A name is in at most one of both lists. */
export interface ListedTools {
  readonly tools: readonly PinnedTool[];
  readonly refused: readonly RefusedTool[];
}

type Fields = { readonly [name: string]: unknown };
const fieldsOf = (value: unknown): Fields | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;

/** A value that has no canonical text. */
class UnusableDefinition extends Error {
  readonly problem: ToolProblem;

  constructor(problem: ToolProblem) {
    super(problem);
    this.problem = problem;
  }
}

/**
 * The value with numbers as doubles, as RFC 8785 writes numbers.
 * @throws UnusableDefinition
 */
function plainValue(value: unknown, depth = 0): unknown {
  if (value instanceof WrittenNumber) return plainValue(Number(value.text), depth);
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value;
    throw new UnusableDefinition('unreadable');
  }
  if (typeof value === 'string') {
    if (isWellFormed(value)) return value;
    throw new UnusableDefinition('unreadable');
  }
  if (typeof value !== 'object' || value === null) return value;
  if (depth === maxDefinitionDepth) throw new UnusableDefinition('too_deep');
  if (Array.isArray(value)) return value.map((item) => plainValue(item, depth + 1));
  const entries = Object.entries(value).map(([name, field]) => {
    if (!isWellFormed(name)) throw new UnusableDefinition('unreadable');
    return [name, plainValue(field, depth + 1)] as const;
  });
  return Object.fromEntries(entries);
}

/** @throws UnusableDefinition */
function canonicalDefinition(members: Fields): string {
  const text = canonicalJson(plainValue(members));
  if (new TextEncoder().encode(text).length > maxDefinitionBytes) throw new UnusableDefinition('too_large');
  return text;
}

const definitionOf = (tool: Fields): string =>
  canonicalDefinition(
    Object.fromEntries(
      fingerprintMembers.flatMap((member) => (Object.hasOwn(tool, member) ? [[member, tool[member]]] : [])),
    ),
  );

/** True for a name that a pin can have. */
export const isToolName = (name: unknown): name is string =>
  typeof name === 'string' && name !== '' && name.length <= maxToolName && isWellFormed(name);

/** A definition, or why it has none. */
function attempt(name: string, define: () => string): PinnedTool | RefusedTool {
  try {
    return { name, definition: define() };
  } catch (failure) {
    if (failure instanceof UnusableDefinition) return { name, problem: failure.problem };
    throw failure;
  }
}

function readTool(tool: unknown): PinnedTool | RefusedTool {
  const fields = fieldsOf(tool) ?? {};
  const { name } = fields;
  if (!isToolName(name) || name === instructionsEntry) {
    return { name: typeof name === 'string' ? name.slice(0, maxToolName) : '', problem: 'unusable_name' };
  }
  return attempt(name, () => definitionOf(fields));
}

/** Names that readers of other languages may take for each other. */
function ambiguousNames(names: readonly string[]): ReadonlySet<string> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(foldCase(name), (counts.get(foldCase(name)) ?? 0) + 1);
  return new Set([...counts].flatMap(([name, count]) => (count > 1 ? [name] : [])));
}

/**
 * The definitions of a whole list of tools, and the tools that no list may show.
 * @param tools as a strict JSON reader returned them (`readStrictJson`)
 * @param instructions of the server; not a text: none
 */
export function readToolList(tools: readonly unknown[], instructions?: unknown): ListedTools {
  const counted = tools.slice(0, maxTools);
  const names = counted.flatMap((tool) => {
    const name = fieldsOf(tool)?.name;
    return typeof name === 'string' ? [name] : [];
  });
  const ambiguous = ambiguousNames(names);
  const results = counted.map((tool): PinnedTool | RefusedTool => {
    const result = readTool(tool);
    return ambiguous.has(foldCase(result.name)) ? { name: result.name, problem: 'duplicate_name' } : result;
  });
  // The list refuses all tools behind the bound, which is one problem and not thousands.
  const [firstLeftOut] = tools.slice(maxTools);
  if (firstLeftOut !== undefined) {
    const name = fieldsOf(firstLeftOut)?.name;
    results.push({
      name: typeof name === 'string' ? name.slice(0, maxToolName) : '',
      problem: 'too_many_tools',
    });
  }
  if (typeof instructions === 'string') {
    results.unshift(attempt(instructionsEntry, () => canonicalDefinition({ instructions })));
  }
  const refused = new Map<string, RefusedTool>();
  for (const result of results) if ('problem' in result) refused.set(result.name, result);
  return {
    tools: results.filter((result) => 'definition' in result && !refused.has(result.name)) as PinnedTool[],
    refused: [...refused.values()],
  };
}

/**
 * A definition that somebody else sent as text: the canonical text if it is one, null otherwise.
 * @param name of its tool, or `instructionsEntry`
 */
export function readDefinition(name: string, text: string): string | null {
  if (text.length > maxDefinitionBytes) return null;
  try {
    const value = fieldsOf(readStrictJson(text, { numbers: 'written', maxDepth: maxDefinitionDepth }));
    if (value === null) return null;
    const isInstructions = name === instructionsEntry;
    const members: readonly string[] = isInstructions ? ['instructions'] : fingerprintMembers;
    if (!Object.keys(value).every((member) => members.includes(member))) return null;
    if (isInstructions ? typeof value.instructions !== 'string' : value.name !== name) return null;
    return canonicalDefinition(value);
  } catch {
    return null;
  }
}
