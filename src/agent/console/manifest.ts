// The manifest beside a batch of events: the contracts that an agent runs of its own.
import { contractTypes, modes } from '../../contract/record.ts';
import type { AgentManifest, EventInput } from '../../event/record.ts';
import { type RepairContext, shortName } from '../../event/rules/repair.ts';
import { isMapping } from '../../shared/json/mapping.ts';
import { withinPatternBounds } from '../rules/manifest.ts';

const maxContracts = 1000;
const maxToolsOfContract = 100;

/**
 * The manifest as it is stored; null without one. One that belongs to another agent than the events, that cannot be
 * read, or whose patterns are over their bounds is refused alone.
 */
export function readManifest(
  value: unknown,
  events: readonly EventInput[],
  context: RepairContext,
): AgentManifest | null | 'refused' {
  if (value === undefined || value === null) return null;
  if (!isMapping(value) || !Array.isArray(value.contracts)) return 'refused';
  const ofEvents = events[0]?.agentId ?? context.agentId;
  const agentId = typeof value.agent_id === 'string' && value.agent_id !== '' ? value.agent_id : ofEvents;
  if (events.some((event) => event.agentId !== agentId)) return 'refused';
  const { policy_version: version } = value;
  const contracts = value.contracts.slice(0, maxContracts).flatMap((contract) => {
    if (!isMapping(contract) || typeof contract.id !== 'string' || contract.id === '') return [];
    const type = contractTypes.find((one) => one === contract.type);
    const mode = modes.find((one) => one === contract.mode) ?? 'enforce';
    return type ? [{ id: shortened(contract.id, context), type, tool: toolsOf(contract.tool), mode }] : [];
  });
  if (withinPatternBounds(contracts) !== contracts) return 'refused';
  return {
    agentId,
    policyVersion: typeof version === 'string' ? version.slice(0, 255) : '',
    contracts,
  };
}

const shortened = (text: string, { sha256 }: RepairContext): string =>
  text.length <= 255 ? text : shortName(text, sha256);

/** One name or several; a session contract may name none. */
function toolsOf(tool: unknown): string | readonly string[] {
  if (typeof tool === 'string') return tool.slice(0, 4096);
  if (!Array.isArray(tool)) return [];
  return tool.slice(0, maxToolsOfContract).filter((name) => typeof name === 'string');
}
