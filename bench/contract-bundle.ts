// The bundle that the engine, the playground and replays are measured with: a contract for each condition.

/** @param whens the conditions, as YAML in flow style; every third contract is of all tools, the others of `write_*` */
export function bundleOf(whens: readonly string[]): string {
  const contracts = whens.flatMap((when, i) => [
    `  - {id: c${i}, type: pre, tool: "${i % 3 ? '*' : 'write_*'}", when: {${when}},`,
    '     then: {effect: deny, message: "Denied {args.path}"}}',
  ]);
  return [
    'apiVersion: service/v1',
    'kind: ContractBundle',
    'metadata: {name: bench}',
    'defaults: {mode: enforce}',
    'contracts:',
    ...contracts,
    '',
  ].join('\n');
}
