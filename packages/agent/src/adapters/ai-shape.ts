// Which objects are tools of the AI SDK: others get their input in another form, and rules would look past it.

/** Functions that tools of the SDK may have beside `execute`, of all its versions. */
const ownFunctions = new Set([
  'execute',
  'toModelOutput',
  'needsApproval',
  'inputSchema',
  'outputSchema',
  'contextSchema',
  'parameters',
  'description',
  'onInputStart',
  'onInputDelta',
  'onInputAvailable',
]);

const asOneFunction = 'Call guard.run inside its own function instead.';
const manyResults =
  "yields several results, but contracts judge one. Return one result, or pass only the last: results: 'last'.";

const errorOf = (name: string, problem: string): TypeError =>
  new TypeError(`guardTools: the tool ${name} ${problem}`);

/** @throws TypeError naming the tool that cannot be governed, and how it can be */
export function checkAiTool(name: string, tool: unknown, results: 'all' | 'last'): void {
  const problem = shapeProblem(tool);
  if (problem !== null) throw errorOf(name, `${problem}. ${asOneFunction}`);
  const { execute } = tool as { readonly execute?: unknown };
  const isGenerator = Object.prototype.toString.call(execute) === '[object AsyncGeneratorFunction]';
  if (isGenerator && results === 'all') throw errorOf(name, manyResults);
}

function shapeProblem(tool: unknown): string | null {
  if (typeof tool !== 'object' || tool === null) return 'is not a tool object of the AI SDK';
  const { execute, id, type } = tool as { execute?: unknown; id?: unknown; type?: unknown };
  if (execute !== undefined && typeof execute !== 'function') return 'has an execute that is not a function';
  const kind: unknown = Object.getPrototypeOf(tool);
  // Tools of a provider have an id, too.
  if (typeof id === 'string' && !String(type).startsWith('provider')) {
    return `has the id ${id}, as a Mastra tool has: contracts would not see its arguments`;
  }
  if (kind !== Object.prototype && kind !== null) {
    return 'is an instance of a class, but AI SDK tools are plain objects';
  }
  if (execute) return null;
  const other = Object.entries(tool).find(
    ([key, value]) => typeof value === 'function' && !ownFunctions.has(key),
  );
  return other ? `runs through ${other[0]}, which the guard does not govern` : null;
}

/** For a result that turns out to be several. */
export const manyResultsError = (name: string): TypeError => errorOf(name, manyResults);
