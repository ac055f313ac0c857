// Frames of the contract library.

import { z } from 'zod';
import { event, eventMaker, type FrameTable, version } from '../http/contract/frame-table.ts';
import { type FrameMakers, toDashboards } from '../http/live/frame-makers.ts';

/** `version` is absent where many were imported at once. */
const contractFields = { contract_id: z.string(), version: version.optional() };

export const contractDashboardFrames = {
  contract_created: event('contract_created', 'A contract is created in the library.', contractFields),
  contract_updated: event('contract_updated', 'A contract gets a new version.', contractFields),
} satisfies FrameTable;

const forDashboards = eventMaker(contractDashboardFrames);

export const contractMakers: Pick<FrameMakers, 'contractCreated' | 'contractUpdated'> = {
  contractCreated: ({ tenantId, contractId, version }) =>
    toDashboards(tenantId, forDashboards('contract_created', contract(contractId, version))),
  contractUpdated: ({ tenantId, contractId, version }) =>
    toDashboards(tenantId, forDashboards('contract_updated', contract(contractId, version))),
};

const contract = (contractId: string, version: number | null) => ({
  contract_id: contractId,
  ...(version === null ? {} : { version }),
});
