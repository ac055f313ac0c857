// The agent library under measurement: its program, and contracts that all look at a call.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The compiled program `reeve-agent`. */
export const agentProgram = (): string =>
  join(dirname(fileURLToPath(import.meta.resolve('reeve-agent/package.json'))), 'dist/esm/cli/main.js');

/**
 * A new folder with the file `contracts.yaml`: a session limit that is never reached, and 100 contracts that every call
 * passes.
 * @param condition of each contract, as YAML
 */
export function contractsFolder(condition: (i: number) => string): { folder: string; contracts: string } {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-bench-'));
  const contracts = join(folder, 'contracts.yaml');
  writeFileSync(
    contracts,
    `apiVersion: service/v1\nkind: ContractBundle\nmetadata: { name: bench }\ndefaults: { mode: enforce }\ncontracts:
  - { id: many, type: session, limits: { max_tool_calls: 100000000 }, then: { effect: deny, message: enough } }
${Array.from(
  { length: 100 },
  (_, i) =>
    `  - { id: no-${i}, type: pre, tool: "*", when: { ${condition(i)} }, then: { effect: deny, message: no } }\n`,
).join('')}`,
  );
  return { folder, contracts };
}
