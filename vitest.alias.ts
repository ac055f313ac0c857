// Tests read the agent library and its rules from their source, so that nothing need be built before one file is run.
const source = (path: string): string => new URL(`packages/agent/src/${path}`, import.meta.url).pathname;

export const alias = [
  { find: /^reeve-agent\/rules$/, replacement: source('rules/index.ts') },
  { find: /^reeve-agent\/exec$/, replacement: source('exec/index.ts') },
  { find: /^reeve-agent\/console$/, replacement: source('console/index.ts') },
  { find: /^reeve-agent$/, replacement: source('index.ts') },
];
