// The identity of a definition: equal on every node and after every repeat.
import { uuidOfDigest } from '../../shared/ids.ts';
import type { ToolEntry } from '../record.ts';

/** @param sha256 hex */
export const entryIdOf = (
  {
    tenantId,
    env,
    server,
    tool,
    fingerprint,
  }: Pick<ToolEntry, 'tenantId' | 'env' | 'server' | 'tool' | 'fingerprint'>,
  sha256: (text: string) => string,
): string => uuidOfDigest(sha256(JSON.stringify(['tool', tenantId, env, server, tool, fingerprint])));
