// Every suite that a store adapter must pass, in one call.
import { agentsContract, rulesContract } from './agents.ts';
import { aiUsageContract } from './ai-usage.ts';
import { approvalsContract } from './approvals.ts';
import { auditContract } from './audit.ts';
import { bundlesContract, deploymentsContract } from './bundles.ts';
import { channelsContract } from './channels.ts';
import { compositionsContract } from './compositions.ts';
import { eventsContract } from './events.ts';
import { eventsModelContract } from './events-model.ts';
import { eventsSearchContract } from './events-search.ts';
import type { Open } from './fixtures.ts';
import { fleetContract } from './fleet.ts';
import { idempotencyContract } from './idempotency.ts';
import { keyCheckContract } from './key-check.ts';
import { contractsContract } from './library.ts';
import { pagesContract } from './pages.ts';
import { runsContract } from './runs.ts';
import { runEventsContract } from './runs-events.ts';
import { settingsContract } from './settings.ts';
import { signingContract } from './signing.ts';
import { takingAwayContract } from './taking-away.ts';
import { bootstrapContract, keysContract, loginsContract, tenantsContract } from './tenants.ts';
import { usageContract } from './usage.ts';
import { usersContract } from './users.ts';
import { workspacesContract } from './workspaces.ts';

/**
 * Runs all suites.
 * @param open a new, empty store at each call; the suites close it
 */
export function storeContract(name: string, open: Open): void {
  bootstrapContract(name, open);
  tenantsContract(name, open);
  loginsContract(name, open);
  usersContract(name, open);
  keysContract(name, open);
  signingContract(name, open);
  keyCheckContract(name, open);
  settingsContract(name, open);
  aiUsageContract(name, open);
  idempotencyContract(name, open);
  contractsContract(name, open);
  compositionsContract(name, open);
  bundlesContract(name, open);
  deploymentsContract(name, open);
  takingAwayContract(name, open);
  approvalsContract(name, open);
  agentsContract(name, open);
  fleetContract(name, open);
  rulesContract(name, open);
  auditContract(name, open);
  workspacesContract(name, open);
  channelsContract(name, open);
  pagesContract(name, open);
  eventsContract(name, open);
  eventsSearchContract(name, open);
  eventsModelContract(name, open);
  runsContract(name, open);
  runEventsContract(name, open);
  usageContract(name, open);
}
