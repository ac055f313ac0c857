// Contracts and compositions for tests that need some in the library.
import type { TestHub, UserCaller } from '../harness.ts';

/** A `pre` contract that denies reading what `pattern` matches. */
export const definition = (pattern = '^/etc/') => ({
  type: 'pre',
  tool: 'read_file',
  when: { 'args.path': { matches: pattern } },
  then: { effect: 'deny', message: 'Not that file.' },
});

export async function addContract(t: TestHub, user: UserCaller, contractId: string, more: object = {}) {
  const body = {
    contract_id: contractId,
    name: `Contract ${contractId}`,
    type: 'pre',
    definition: definition(),
    ...more,
  };
  return (await t.call('createContract', { body }, user)).body;
}

/** A composition of these contracts, at positions 10, 20, 30… */
export async function addComposition(
  t: TestHub,
  user: UserCaller,
  name: string,
  contractIds: readonly string[],
  more: object = {},
) {
  const contracts = contractIds.map((contract_id, i) => ({ contract_id, position: (i + 1) * 10 }));
  return (await t.call('createComposition', { body: { name, contracts, ...more } }, user)).body;
}

export const bundleYaml = (name: string, contracts: readonly string[] = ['block-etc'], head = '') =>
  `apiVersion: service/v1
kind: ContractBundle
metadata: {name: ${name}}
defaults: {mode: enforce}
${head}contracts:
${contracts
  .map(
    (id) => `  - id: ${id}
    type: pre
    tool: read_file
    when: {args.path: {matches: ^/etc/}}
    then: {effect: deny, message: Not that file.}
`,
  )
  .join('')}`;
