// Every suite that a store adapter must pass, in one call.

import { agentStreamsContract } from './agent-streams.ts';
import { agentsContract, rulesContract } from './agents.ts';
import { aiUsageContract } from './ai-usage.ts';
import { approvalsContract } from './approvals.ts';
import { pendingApprovalsContract } from './approvals-pending.ts';
import { auditContract } from './audit.ts';
import { bundlesContract, deploymentsContract } from './bundles.ts';
import { channelsContract } from './channels.ts';
import { compositionsContract } from './compositions.ts';
import { eventsContract } from './events.ts';
import { eventsCallIdsContract } from './events-call-ids.ts';
import { eventsModelContract } from './events-model.ts';
import { eventsQueryContract } from './events-query.ts';
import { eventsSearchContract } from './events-search.ts';
import { eventsSeriesContract } from './events-series.ts';
import { exportsContract } from './exports.ts';
import { figuresContract } from './figures.ts';
import { type Open, storeOfFile } from './fixtures.ts';
import { fleetContract } from './fleet.ts';
import { idempotencyContract } from './idempotency.ts';
import { identitiesContract } from './identities.ts';
import { installationContract } from './installation.ts';
import { keyCheckContract } from './key-check.ts';
import { contractsContract } from './library.ts';
import { libraryRunsContract } from './library-runs.ts';
import { operatorTokensContract } from './operator-tokens.ts';
import { pagesContract } from './pages.ts';
import { retentionContract } from './retention.ts';
import { runsContract } from './runs.ts';
import { runEventsContract } from './runs-events.ts';
import { searchTextsContract } from './search-texts.ts';
import { serviceAccountsContract } from './service-accounts.ts';
import { settingsContract } from './settings.ts';
import { signingContract } from './signing.ts';
import { takingAwayContract } from './taking-away.ts';
import { tenantFilesContract } from './tenant-files.ts';
import { tenantRecordsContract } from './tenant-records.ts';
import { bootstrapContract, keysContract, loginsContract, tenantsContract } from './tenants.ts';
import { toolsContract } from './tools.ts';
import { usageContract } from './usage.ts';
import { usersContract } from './users.ts';
import { viewsContract } from './views.ts';
import { workspacesContract } from './workspaces.ts';

type Suite = (name: string, open: Open) => void;

/** In parts, which an adapter whose store takes its time may run side by side. */
export const storeSuites = {
  library: [
    bootstrapContract,
    tenantsContract,
    tenantRecordsContract,
    tenantFilesContract,
    loginsContract,
    identitiesContract,
    usersContract,
    keysContract,
    operatorTokensContract,
    agentStreamsContract,
    viewsContract,
    serviceAccountsContract,
    signingContract,
    keyCheckContract,
    settingsContract,
    aiUsageContract,
    idempotencyContract,
    contractsContract,
    compositionsContract,
    bundlesContract,
    deploymentsContract,
    takingAwayContract,
  ],
  fleet: [
    approvalsContract,
    pendingApprovalsContract,
    agentsContract,
    fleetContract,
    rulesContract,
    auditContract,
    workspacesContract,
    channelsContract,
    toolsContract,
    pagesContract,
    installationContract,
  ],
  events: [
    eventsContract,
    eventsQueryContract,
    eventsSeriesContract,
    eventsSearchContract,
    eventsCallIdsContract,
    searchTextsContract,
    eventsModelContract,
    runsContract,
    libraryRunsContract,
    runEventsContract,
    usageContract,
    figuresContract,
    retentionContract,
    exportsContract,
  ],
} satisfies { readonly [part: string]: readonly Suite[] };

/** They look at all tenants, or at an empty store. */
const ownStore: ReadonlySet<Suite> = new Set([
  bootstrapContract,
  tenantsContract,
  usersContract,
  installationContract,
]);

/**
 * Runs all suites.
 * @param open a new, empty store at each call; whoever calls it closes it
 * @param parts all by default
 * @param isShared false: a store for each suite, where opening one costs less than what other suites leave in it
 */
export function storeContract(
  name: string,
  open: Open,
  parts: readonly (keyof typeof storeSuites)[] = ['library', 'fleet', 'events'],
  isShared = true,
): void {
  const shared = isShared ? storeOfFile(open) : open;
  for (const part of parts)
    for (const suite of storeSuites[part] as readonly Suite[])
      suite(name, ownStore.has(suite) ? open : shared);
}
