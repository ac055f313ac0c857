// The state that a hub should have: the folder's contents, and those of the hub that the folder does not manage. Pure.
import { type CompositionContent, type ContractContent, olderKeyOf, type ToolsContent } from './content.ts';
import { type FileProblem, problemAt } from './files.ts';
import type { Folder } from './folder.ts';
import type { HubState } from './hub-state.ts';

export interface Desired {
  /** Content of each contract in the folder or on the hub, and its hash. */
  readonly contracts: ReadonlyMap<string, { readonly content: ContractContent; readonly hash: string }>;
  /** Compositions of the folder, and those of the hub alone that follow its contracts. */
  readonly compositions: ReadonlyMap<string, CompositionContent>;
  /** The content with this hash. */
  contentOf(contractId: string, hash: string): ContractContent | undefined;
}

/** Adds problems where the folder names what is nowhere. */
export function desiredOf(folder: Folder, hub: HubState, prunes: boolean, problems: FileProblem[]): Desired {
  const contracts = new Map<string, { readonly content: ContractContent; readonly hash: string }>(
    hub.contracts,
  );
  for (const [id, { content, hash, place }] of folder.contracts ?? []) {
    const type = hub.contracts.get(id)?.content.type ?? content.type;
    if (type !== content.type) {
      const sentence = `the type on the hub is ${type}, and a contract cannot change its type; use another id`;
      problems.push(problemAt(place, sentence));
    }
    contracts.set(id, { content, hash });
  }
  const contentOf = (contractId: string, hash: string): ContractContent | undefined => {
    const current = contracts.get(contractId);
    if (current?.hash === hash) return current.content;
    const hubContent = hub.contracts.get(contractId);
    if (hubContent?.hash === hash) return hubContent.content;
    const key = olderKeyOf(contractId, hash);
    return (folder.older.get(key) ?? hub.pinned.get(key))?.content;
  };
  const compositions = new Map<string, CompositionContent>();
  for (const [name, { content }] of folder.compositions ?? []) {
    const items = content.contracts.map(({ place, revision, ...item }) => {
      const contract = contracts.get(item.contractId);
      if (!contract) problems.push(problemAt(place, `the contract ${item.contractId} is not in the folder`));
      const hash = revision ?? contract?.hash ?? '';
      if (contract && !contentOf(item.contractId, hash)) {
        const sentence = `contracts/${item.contractId}@${hash}.yaml does not exist, and the hub does not use it`;
        problems.push(problemAt(place, sentence));
      }
      return { ...item, revision: hash };
    });
    compositions.set(name, { ...content, contracts: items });
  }
  for (const [name, { content }] of hub.compositions) {
    const isGone = folder.compositions !== null && prunes;
    if (compositions.has(name) || isGone || !isFollowing(name, content, folder, hub)) continue;
    const items = content.contracts.map((item) => ({
      ...item,
      revision: contracts.get(item.contractId)?.hash ?? item.revision,
    }));
    compositions.set(name, { ...content, contracts: items });
  }
  return { contracts, compositions, contentOf };
}

/** True for a composition of the hub alone that a new version of a contract in the folder would deploy. */
const isFollowing = (name: string, content: CompositionContent, folder: Folder, hub: HubState): boolean =>
  content.updateStrategy === 'auto_deploy' &&
  content.contracts.some(({ contractId: id }) => folder.contracts?.has(id)) &&
  hub.environments.some(({ env, canChange }) => canChange && hub.deployments.has(`${env}/${name}`));

export const toolsAfter = (content: Partial<ToolsContent>, hub: HubState): ToolsContent => ({
  ...hub.tools.content,
  ...content,
});
