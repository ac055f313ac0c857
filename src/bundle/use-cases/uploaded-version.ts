// A bundle version as somebody uploads it: YAML of their own, not assembled of a composition.

import type { BundleOutline } from '../../evaluation/port/evaluator.ts';
import { actorName, type Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { NewBundle } from '../port.ts';

/** @param outline the fields of the YAML that describe it; its name is the version's */
export function uploadedVersion(
  { clock, secrets }: Pick<AppPorts, 'clock' | 'secrets'>,
  principal: Principal,
  yaml: Uint8Array,
  { name, contractCount, mode, description }: BundleOutline,
): NewBundle {
  return {
    id: secrets.uuid(),
    tenantId: principal.tenantId,
    name,
    revisionHash: secrets.sha256(yaml),
    contractCount,
    mode,
    description,
    size: yaml.length,
    uploadedBy: actorName(principal.actor),
    createdAt: clock.now(),
    compositionId: null,
    snapshot: null,
    yaml,
  };
}
