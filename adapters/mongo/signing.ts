// Signing keys in MongoDB. One document per tenant holds the active key and the current deployment of every environment
// and bundle, with its signature: a deployment (deployments.ts) and a rotation are each one write of this document, so
// that current deployments are always signed by the active key. A process that dies before or after that write leaves
// nothing half done. Seeds of retired keys are not kept.
import type { Collection } from 'mongodb';
import type { Deployment } from '../../src/deployment/record.ts';
import type { KeyedMutex } from '../../src/shared/concurrency/keyed-mutex.ts';
import type { SigningStore } from '../../src/signing/port.ts';
import { type KeySuccession, maxSuccessions, type SigningKey } from '../../src/signing/record.ts';
import { unlessTaken } from './failure.ts';
import { decide, readVersioned } from './versioned-document.ts';

/** A deployment and its place among all deployments of its tenant, from 1. */
export type OrderedDeployment = Deployment & { readonly order: number };

export interface SigningDocument {
  readonly _id: string;
  readonly revision: number;
  readonly active: SigningKey;
  /** How many deployments the tenant has had. */
  readonly deployments: number;
  /** By `currentField`. */
  readonly current: { readonly [field: string]: OrderedDeployment };
  /**
   * By `currentField`: the sequence of the last deployment, which outlives it. Absent before the first one that was
   * noted.
   */
  readonly sequences?: { readonly [field: string]: number };
  /** By `bundleField`: the newest of the versions that were taken away. Absent before the first of them. */
  readonly removed?: { readonly [field: string]: number };
  /** Oldest first. Absent before the first rotation that made one. */
  readonly successions?: readonly KeySuccession[];
  /** By environment: the highest epoch of an owner that deployed there. */
  readonly fences?: { readonly [env: string]: number };
}

export const newSigningDocument = (key: SigningKey): SigningDocument => ({
  _id: key.tenantId,
  revision: 1,
  active: key,
  deployments: 0,
  current: {},
});

export function mongoSigning(
  documents: Collection<SigningDocument>,
  turn: KeyedMutex,
  finishFounding: (tenantId: string) => Promise<void>,
): SigningStore {
  const active = async (tenantId: string) =>
    (await readVersioned(documents, tenantId, ['active']))?.active ?? null;
  return {
    async getActive(tenantId) {
      const key = await active(tenantId);
      if (key !== null) return key;
      await finishFounding(tenantId);
      return active(tenantId);
    },
    async create(key) {
      await finishFounding(key.tenantId);
      return (await unlessTaken(documents.insertOne(newSigningDocument(key)))) ? 'created' : 'exists';
    },
    async listSuccessions(tenantId) {
      return (await readVersioned(documents, tenantId, ['successions']))?.successions ?? [];
    },
    rotate(tenantId, expectedId, next, signatures, succession) {
      return decide(turn, documents, tenantId, (document) => {
        const signed = new Map(signatures.map((s) => [s.deploymentId, s]));
        const current = Object.entries(document?.current ?? {});
        const exact =
          signed.size === signatures.length &&
          signed.size === current.length &&
          current.every(([, deployment]) => signed.has(deployment.id));
        if (document === null || document.active.id !== expectedId || !exact)
          return { answer: 'changed' as const };
        const resigned = current.map(([field, deployment]) => {
          const { deploymentId: _id, ...signature } = signed.get(deployment.id) ?? {};
          return [field, { ...deployment, ...signature, publicKey: next.publicKey, signingKeyId: next.id }];
        });
        const successions = succession
          ? [...(document.successions ?? []), succession].slice(-maxSuccessions)
          : [];
        const set = { active: next, current: Object.fromEntries(resigned), successions };
        return { answer: 'rotated' as const, set };
      });
    },
  };
}
