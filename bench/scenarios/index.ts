// The scenarios of the suite, in the order in which they run. Each is loaded when it runs: all of them together take
// seconds.
import type { ScenarioProgram } from './scenario.ts';

export const scenarios: { readonly [name: string]: ScenarioProgram } = {
  ingest: {
    about: 'durable ingest: rate, time until an answer, cost per event',
    ids: true,
    loaders: true,
    run: async (options) => (await import('./ingest.ts')).runIngest(options),
  },
  hosted: {
    about: "the hosted API: ingest beside the console's API, memory of a decision bundle",
    ownHub: 'it needs a known number of events',
    run: async (options) => (await import('./hosted.ts')).runHosted(options),
  },
  fanout: {
    about: 'a deployment to many agents: last delivery over SSE and WebSocket',
    ownHub: 'it deploys to production',
    rivals: 'streams',
    run: async (options) => (await import('./fanout.ts')).runFanout(options),
  },
  idle: {
    about: 'idle agent streams: memory and processor time of each',
    ownHub: 'each round needs a new hub',
    rivals: 'streams',
    run: async (options) => (await import('./idle.ts')).runIdle(options),
  },
  storm: {
    about: 'all agents connect at one moment: rate, refusals, cost of an opening',
    ownHub: 'each round needs a new hub',
    run: async (options) => (await import('./storm.ts')).runStorm(options),
  },
  owner: {
    about:
      'the owner of an environment, with simulated agents: memory, time of a deployment with its reports',
    ownHub: 'it simulates agents in a process of its own',
    hasNoHub: true,
    run: async (options) => (await import('./owner.ts')).runOwner(options),
  },
  requests: {
    about: 'requests a second beside a bare server: the health check, the deployed bundle',
    ownHub: 'it deploys to production',
    run: async (options) => (await import('./requests.ts')).runRequests(options),
  },
  approval: {
    about: "approvals on one node: time until the agent's stream has the decision",
    run: async (options) => (await import('./approval.ts')).runApproval(options),
  },
  query: {
    about: 'reads of many events, statistics, coverage and runs: time until an answer',
    ownHub: 'it needs a known number of events',
    run: async (options) => (await import('./query.ts')).runQuery(options),
  },
  evaluate: {
    about: 'decisions in the library, in the playground and in replays',
    rivals: 'decisions',
    run: async (options) => (await import('./evaluate.ts')).runEvaluate(options),
  },
  deliveries: {
    about: 'notifications to webhooks: time until receivers have them, beside one that never answers',
    ownHub: 'it adds notification channels',
    run: async (options) => (await import('./deliveries.ts')).runDeliveries(options),
  },
  scrape: {
    about: 'scrapes of /metrics on a hub with open streams',
    ownHub: 'it needs a token of the metrics and the delays of the event loop',
    run: async (options) => (await import('./scrape.ts')).runScrape(options),
  },
  traces: {
    about: 'what traces cost ingest: off beside the hub of --hub, on beside off',
    ownHub: 'it needs hubs with traces off and on',
    run: async (options) => (await import('./traces.ts')).runTraces(options),
  },
  mixed: {
    about: 'all at once with three consoles: latencies, deployments, growth',
    ownHub: 'it deploys to production',
    run: async (options) => (await import('./mixed.ts')).runMixed(options),
  },
  library: {
    about: 'the agent library: a guarded call, the gate, the MCP proxy',
    ownHub: 'it measures no hub',
    hasNoHub: true,
    run: async (options) => (await import('./library.ts')).runLibrary(options),
  },
  mcp: {
    about:
      'the MCP proxy in every pair of the eras of the protocol, and beside a hub: tasks and accepted tools',
    ownHub: 'it starts a hub with a limit of its own',
    run: async (options) => (await import('./mcp.ts')).runMcp(options),
  },
  console: {
    about: 'the web console in a real browser: Home, decisions, filters, live tail, sockets',
    ownHub: 'it needs a known number of events',
    run: async (options) => (await import('./console.ts')).measureConsole(options),
  },
  retention: {
    about: 'ingest beside a running retention, and the time of its slices',
    ownHub: 'it needs events of ten days ago',
    run: async (options) => (await import('./retention.ts')).runRetention(options),
  },
  bus: {
    about: 'envelopes and frames through one Redis',
    ownHub: 'it measures no hub',
    hasNoHub: true,
    run: async (options) => (await import('./bus.ts')).runBus(options),
  },
  cluster: {
    about:
      'one to three nodes over MongoDB and Redis: ingest, decisions across nodes, entries of a deployment',
    ownHub: 'it starts nodes of its own',
    run: async (options) => (await import('./cluster.ts')).runCluster(options),
  },
  move: {
    about: 'the copy of an embedded hub into MongoDB',
    ownHub: 'it stops the hub',
    run: async (options) => (await import('./move.ts')).runMove(options),
  },
};
