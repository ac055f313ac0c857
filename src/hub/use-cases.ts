// All use cases, made once with their ports.

import { createRateLimits } from '../admission/rate-limit.ts';
import { AssignmentRules } from '../agent/use-cases/assignment-rules.ts';
import { createFetchedRulesets } from '../agent/use-cases/fetched-rulesets.ts';
import { Fleet } from '../agent/use-cases/fleet.ts';
import { createHistories } from '../agent/use-cases/history.ts';
import { createLastSeen } from '../agent/use-cases/last-seen.ts';
import { createFleetMatrices } from '../agent/use-cases/matrix.ts';
import { Registrations } from '../agent/use-cases/registrations.ts';
import { createRulings } from '../agent/use-cases/rulings.ts';
import { createAgentTimelines } from '../agent/use-cases/timeline.ts';
import { createVocabularies } from '../agent/use-cases/vocabularies.ts';
import { createApprovalAssignments } from '../approval/use-cases/assignments.ts';
import { createApprovalGroups } from '../approval/use-cases/groups.ts';
import { createApprovalSearches } from '../approval/use-cases/search.ts';
import { Approvals } from '../approval/use-cases.ts';
import { createAiAccess } from '../assistant/use-cases/access.ts';
import { createAssistant } from '../assistant/use-cases/conversation.ts';
import { AiSettings } from '../assistant/use-cases/settings.ts';
import { AuditLog } from '../audit/use-cases.ts';
import { Bundles } from '../bundle/use-cases/bundles.ts';
import { createInspector } from '../bundle/use-cases/inspection.ts';
import { createRulesetNames } from '../bundle/use-cases/ruleset-names.ts';
import { Rulesets } from '../bundle/use-cases/rulesets.ts';
import { createUploads } from '../bundle/use-cases/uploads.ts';
import { createAssembler } from '../composition/use-cases/assembly.ts';
import { Compositions } from '../composition/use-cases/compositions.ts';
import { createReleases } from '../composition/use-cases/releases.ts';
import { createRollouts } from '../composition/use-cases/rollouts.ts';
import { ListedRules } from '../contract/use-cases/listed-rules.ts';
import { Contracts } from '../contract/use-cases.ts';
import { Deployments } from '../deployment/use-cases/deployments.ts';
import { createImpacts } from '../deployment/use-cases/impact.ts';
import { createExplanations } from '../evaluation/use-cases/explanations.ts';
import { createPlayground } from '../evaluation/use-cases/playground.ts';
import { createReplays } from '../evaluation/use-cases/replays.ts';
import { createRecentToolSettings, createToolSettings } from '../evaluation/use-cases/tool-settings.ts';
import { createEventExports } from '../event/use-cases/exports.ts';
import { createEventIntake } from '../event/use-cases/intake.ts';
import { createEventRemoval } from '../event/use-cases/removal.ts';
import { createEventSearches } from '../event/use-cases/search.ts';
import { createEventTail } from '../event/use-cases/tail.ts';
import { createExports } from '../export/use-cases.ts';
import type { App } from '../http/contract/app.ts';
import { Keys } from '../key/use-cases.ts';
import { createChannels } from '../notification/use-cases/channels.ts';
import { ChatDecisions } from '../notification/use-cases/chat-decisions.ts';
import { createDeadJobs } from '../notification/use-cases/dead-jobs.ts';
import { createNotifications } from '../notification/use-cases/notifications.ts';
import { createEvidence } from '../run/use-cases/evidence.ts';
import { createRuns } from '../run/use-cases/runs.ts';
import { createSampleRuns } from '../run/use-cases/samples.ts';
import { createRunTimelines } from '../run/use-cases/timeline.ts';
import { createThingSearches } from '../search/use-cases.ts';
import { createSessionValues } from '../session/use-cases.ts';
import type { AppPorts } from '../shared/use-case-ports.ts';
import { createSigningKeys } from '../signing/use-cases.ts';
import { type Accounts, createAccounts } from '../tenant/use-cases/accounts.ts';
import { createEnvironments } from '../tenant/use-cases/environments.ts';
import { createInstallation } from '../tenant/use-cases/installation.ts';
import { createRetention } from '../tenant/use-cases/retention.ts';
import { createTenantExports } from '../tenant/use-cases/tenant-export.ts';
import { TenantImports } from '../tenant/use-cases/tenant-import.ts';
import { createTenants } from '../tenant/use-cases/tenants.ts';
import { createToolPins } from '../tool/use-cases/decisions.ts';
import { createObservations } from '../tool/use-cases/observations.ts';
import { createAttention } from '../usage/use-cases/attention.ts';
import { createCoverage } from '../usage/use-cases/coverage.ts';
import { createSeriesReader } from '../usage/use-cases/series.ts';
import { Statistics } from '../usage/use-cases/statistics.ts';
import { createIdentityProvider, type IdentityProvider } from '../user/use-cases/identity-provider.ts';
import { createLogins } from '../user/use-cases/logins.ts';
import { createOidcLogins, type OidcLogins } from '../user/use-cases/oidc-logins.ts';
import { createOperatorTokens } from '../user/use-cases/operator-tokens.ts';
import { People } from '../user/use-cases/people.ts';
import { ServiceAccounts } from '../user/use-cases/service-accounts.ts';
import { createSessions } from '../user/use-cases/sessions.ts';
import { createViews } from '../view/use-cases.ts';

/** The use cases that others call. */
function createSharedUseCases(ports: AppPorts) {
  const inspector = createInspector(ports);
  const uploads = createUploads(ports);
  const auditLog = new AuditLog(ports);
  const environments = createEnvironments(ports);
  const access = createAiAccess(ports);
  const deployments = new Deployments({ ...ports, environments, inspector });
  const channels = createChannels(ports);
  const assembler = createAssembler(ports);
  const releases = createReleases({ ...ports, uploads, deployments, inspector });
  const rollouts = createRollouts({ ...ports, environments, assembler, releases, inspector });
  const rulings = createRulings(ports);
  const compositions = new Compositions({
    ...ports,
    environments,
    assembler,
    releases,
    rollouts,
    inspector,
  });
  const runs = createRuns({ ...ports, fleet: new Fleet(ports), names: createRulesetNames(ports) });
  const rulesets = new Rulesets({ ...ports, environments, inspector, uploads, deployments });
  const sampleRuns = createSampleRuns({ ...ports, environments, rulesets });
  const lastSeen = createLastSeen(ports);
  const recentToolSettings = createRecentToolSettings(ports);
  const accounts = createAccounts(ports);
  const approvalAssignments = createApprovalAssignments(ports);
  const logins = createLogins({ ...ports, approvalAssignments });
  const provider = providerOf(ports, accounts);
  const approvals = new Approvals({ ...ports, lastSeen });
  const eventSearches = createEventSearches({ ...ports, rulings });
  const vocabularies = createVocabularies(ports);
  const bundles = new Bundles({ ...ports, inspector, uploads });
  const keys = new Keys(ports);
  return {
    /** Parts of the application. */
    published: {
      inspector,
      auditLog,
      environments,
      deployments,
      channels,
      compositions,
      runs,
      rulesets,
      sampleRuns,
      accounts,
      logins,
      approvals,
      approvalAssignments,
      eventSearches,
      vocabularies,
      bundles,
      keys,
    },
    internal: { access, rollouts, rulings, lastSeen, recentToolSettings, provider },
  };
}

const appOf = (ports: AppPorts, { published, internal }: ReturnType<typeof createSharedUseCases>): App => ({
  ...published,
  tenants: createTenants(ports),
  views: createViews(ports),
  tenantExports: createTenantExports({ ...ports, auditLog: published.auditLog }),
  tenantImports: new TenantImports(ports),
  coverage: createCoverage({ ...ports, rulings: internal.rulings }),
  agentTimelines: createAgentTimelines({ ...ports, rulings: internal.rulings }),
  histories: createHistories({ ...ports, rulings: internal.rulings }),
  attention: createAttention({ ...ports, ...published, rulings: internal.rulings }),
  series: createSeriesReader({ ...ports, rulings: internal.rulings }),
  statistics: new Statistics({ ...ports, sampleRuns: published.sampleRuns, rulings: internal.rulings }),
  approvalGroups: createApprovalGroups(ports),
  approvalSearches: createApprovalSearches({ ...ports, approvals: published.approvals }),
  rateLimits: createRateLimits(ports),
  assignmentRules: new AssignmentRules({ ...ports, environments: published.environments }),
  oidcLogins: oidcLoginsOf({ ...ports, ...published }, internal.provider),
  installation: createInstallation(ports),
  matrices: createFleetMatrices(ports),
  impacts: createImpacts({ ...ports, compositions: published.compositions }),
  eventExports: createEventExports(ports),
  exports: createExports({ ...ports, sampleRuns: published.sampleRuns }),
  registrations: new Registrations({
    ...ports,
    environments: published.environments,
    lastSeen: internal.lastSeen,
  }),
  eventIntake: createEventIntake({ ...ports, lastSeen: internal.lastSeen }),
  explanations: createExplanations({
    ...ports,
    eventSearches: published.eventSearches,
    runs: published.runs,
    recentToolSettings: internal.recentToolSettings,
  }),
  eventTail: createEventTail(ports),
  fetchedRulesets: createFetchedRulesets(ports),
  chatDecisions: new ChatDecisions({
    ...ports,
    channels: published.channels,
    approvals: published.approvals,
  }),
  notifications: createNotifications({ ...ports, channels: published.channels }),
  contracts: new Contracts({ ...ports, rollouts: internal.rollouts, rulings: internal.rulings }),
  listedRules: new ListedRules(ports),
  fleet: new Fleet(ports),
  people: new People({ ...ports, approvalAssignments: published.approvalAssignments }),
  sessions: createSessions({ ...ports, approvalAssignments: published.approvalAssignments }),
  serviceAccounts: new ServiceAccounts(ports),
  playground: createPlayground({ ...ports, recentToolSettings: internal.recentToolSettings }),
  replays: createReplays({ ...ports, compositions: published.compositions }),
  runTimelines: createRunTimelines(ports),
  evidence: createEvidence({ ...ports, runs: published.runs }),
  thingSearches: createThingSearches({ ...ports, bundles: published.bundles, keys: published.keys }),
  operatorTokens: createOperatorTokens({ ...ports, provider: internal.provider }),
  toolPins: createToolPins({ ...ports, environments: published.environments }),
  observations: createObservations(ports),
  toolSettings: createToolSettings({ ...ports, recentToolSettings: internal.recentToolSettings }),
  aiSettings: new AiSettings({ ...ports, access: internal.access }),
  sessionValues: createSessionValues(ports),
  signingKeys: createSigningKeys(ports),
  deadJobs: createDeadJobs(ports),
  eventRemoval: createEventRemoval(ports),
  retention: createRetention(ports),
  assistant: createAssistant({ ...ports, access: internal.access, inspector: published.inspector }),
});

export const createApp = (ports: AppPorts): App => appOf(ports, createSharedUseCases(ports));

const providerOf = (ports: AppPorts, accounts: Accounts): IdentityProvider | null =>
  ports.settings.oidc &&
  createIdentityProvider({
    ...ports,
    settings: ports.settings.oidc,
    outbound: ports.outboundToIssuer,
    workspaces: ports.store.workspaces,
    provision: (workspace) => accounts.provision(workspace),
  });

function oidcLoginsOf(
  ports: AppPorts & Pick<App, 'logins' | 'approvalAssignments'>,
  issuer: IdentityProvider | null,
): OidcLogins | null {
  const { settings, signInProvider: provider } = ports;
  if (!provider || !issuer || !settings.oidc) return null;
  return createOidcLogins({ ...ports, provider, issuer, oidc: settings.oidc });
}
