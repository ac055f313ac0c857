// Approvals of the hub for a gate: loaded only when a contract asks.
import type { ApprovalBackend } from '../../approvals.ts';
import { HubClient, type HubOptions } from '../../hub.ts';

/** Milliseconds between two looks: a gate has no stream of decisions. */
const approvalPollInterval = 1000;

export const hubApprovals = (hub: HubOptions): ApprovalBackend =>
  new HubClient({ approvalPollInterval, ...hub }).approvals;
