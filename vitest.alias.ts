// Tests read the agent library and its rules from their source, so that nothing need be built before one file is run.
import { builtinModules } from 'node:module';
import type { Plugin, ResolvedConfig } from 'vite';

const source = (path: string): string => new URL(`packages/agent/src/${path}`, import.meta.url).pathname;

export const alias = [
  { find: /^reeve-agent\/rules$/, replacement: source('rules/index.ts') },
  { find: /^reeve-agent\/exec$/, replacement: source('exec/index.ts') },
  { find: /^reeve-agent\/console$/, replacement: source('console/index.ts') },
  { find: /^reeve-agent$/, replacement: source('index.ts') },
];

/** Node's own modules that every version has under a plain name; newer ones add some that need "node:". */
const plainModules = new Set(builtinModules.filter((name) => !name.includes(':')));

/**
 * The key of a compiled module in vitest's cache names the modules of the Node that compiled it. Without the ones that a
 * newer version adds, the versions share what one has compiled.
 */
export const sameOnEveryNode = {
  name: 'same-on-every-node',
  configResolved({ environments }: ResolvedConfig): void {
    for (const { resolve } of Object.values(environments))
      if (Array.isArray(resolve.external))
        resolve.external = resolve.external.filter((name) => plainModules.has(name.replace(/^node:/, '')));
  },
} satisfies Plugin;
