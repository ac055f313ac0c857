// The bounds of what an agent sends about rules of its own. Pure.
import type { ManifestContract } from '../../event/record.ts';

/** Names and patterns of tools, over all contracts of a manifest. */
export const maxManifestPatterns = 2000;
/** Their bytes together. */
export const maxManifestPatternBytes = 64 * 1024;

export const toolsOfContract = ({ tool }: Pick<ManifestContract, 'tool'>): readonly string[] =>
  typeof tool === 'string' ? [tool] : tool;

/** The contracts up to the first pattern that is over a bound; the same list when all are within. */
export function withinPatternBounds(contracts: readonly ManifestContract[]): readonly ManifestContract[] {
  let patterns = 0;
  let bytes = 0;
  for (const [i, contract] of contracts.entries()) {
    const tools = toolsOfContract(contract);
    for (const [j, tool] of tools.entries()) {
      patterns++;
      bytes += Buffer.byteLength(tool);
      if (patterns <= maxManifestPatterns && bytes <= maxManifestPatternBytes) continue;
      return [...contracts.slice(0, i), { ...contract, tool: tools.slice(0, j) }];
    }
  }
  return contracts;
}
