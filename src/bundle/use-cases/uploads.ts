// Upload: saves a document as a version of its name, for bundles, rulesets and compositions alike.

import { noted, uploaded } from '../../audit/note.ts';
import type { BundleOutline } from '../../evaluation/port/evaluator.ts';
import { actorName, type Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { NewBundle } from '../port.ts';
import type { BundleVersion } from '../record.ts';

export interface UploadedDocument extends Pick<NewBundle, 'yaml'> {
  /** Subject of the entry in the audit chain. */
  readonly subject: 'bundle' | 'ruleset';
  /** Fields of the YAML that describe it. Its name is the version's. */
  readonly outline: Omit<BundleOutline, 'kind'>;
  /** Source of an assembled document; absent for an author's own. */
  readonly source?: Pick<NewBundle, 'compositionId' | 'snapshot'>;
}

/** Rights and the document are their callers' to check. */
export interface Uploads {
  /**
   * Saves the next version together with its entry in the audit chain. Dashboards get a frame for an author's own; the
   * deployment of an assembled one has frames of its own.
   */
  upload(principal: Principal, document: UploadedDocument): Promise<BundleVersion>;
  /** The same while the newest version is `after` (0: while there is none); else saves nothing. */
  uploadAfter(
    principal: Principal,
    document: UploadedDocument,
    after: number,
  ): Promise<BundleVersion | 'changed'>;
}

type Ports = Pick<AppPorts, 'store' | 'announcer' | 'clock' | 'secrets'>;

export const createUploads = (ports: Ports): Uploads => ({
  async upload(principal, document) {
    const bundle = await notedBundles(ports, principal, document).upload(
      versionOf(ports, principal, document),
    );
    await announce(ports, document, bundle);
    return bundle;
  },

  async uploadAfter(principal, document, after) {
    const bundle = await notedBundles(ports, principal, document).uploadAfter(
      versionOf(ports, principal, document),
      after,
    );
    if (bundle !== 'changed') await announce(ports, document, bundle);
    return bundle;
  },
});

const notedBundles = (ports: Ports, principal: Principal, { subject, outline }: UploadedDocument) =>
  noted(ports, principal, uploaded(subject, outline.name)).bundles;

async function announce({ announcer }: Ports, { source }: UploadedDocument, bundle: BundleVersion) {
  if (source === undefined) await announcer.announce([{ kind: 'bundleUploaded', bundle }]);
}

function versionOf(
  { clock, secrets }: Ports,
  principal: Principal,
  { yaml, outline, source = { compositionId: null, snapshot: null } }: UploadedDocument,
): NewBundle {
  const { name, contractCount, mode, description } = outline;
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
    ...source,
    yaml,
  };
}
