import { describe, expect, it } from 'vitest';
import { environmentKey } from '../../actors/protocol.ts';
import { aDeployment, uuid } from '../conformance/fixtures.ts';
import { aHub, allStreams, headersOf, rotation } from './hub.ts';

const yaml = 'kind: ContractBundle\n';

describe('deploying', () => {
  it('signs the bytes with the active key, stores the deployment, then announces it', async () => {
    const hub = await aHub();
    const { version, hash } = await hub.upload('base', yaml);
    const deployment = await hub.deploy('base', version);
    expect(deployment).toMatchObject({
      sequence: hub.clock.now(),
      revisionHash: hash,
      publicKey: hub.signingKey.publicKey,
      signingKeyId: hub.signingKey.id,
      createdAt: hub.clock.now(),
    });
    expect(await hub.store.deployments.getCurrent(hub.tenantId, 'production', 'base')).toEqual(deployment);
    const frames = await hub.announced();
    expect(headersOf(frames)).toEqual([
      'agents/production contract_update',
      'dashboards contract_update',
      'dashboards bundle_deployed',
    ]);
    const update = {
      type: 'contract_update',
      bundle_name: 'base',
      version: 1,
      revision_hash: hash,
      signature: deployment.signature,
      public_key: hub.signingKey.publicKey,
      yaml_bytes: Buffer.from(yaml).toString('base64'),
      env: 'production',
      tenant_id: hub.tenantId,
      sequence: deployment.sequence,
      deployed_at: new Date(hub.clock.now()).toISOString(),
      attestation: deployment.attestation,
      key_succession: [],
    };
    expect(frames[0]).toMatchObject({ bundle: 'base', data: update });
    expect(frames[1]?.data).toEqual(update);
    expect(frames[1]?.bundle).toBeUndefined();
    expect(frames[2]?.data).toEqual({
      type: 'bundle_deployed',
      bundle_name: 'base',
      version: 1,
      env: 'production',
      deployed_by: 'ann@example.org',
    });
    expect(hub.secrets.verify(deployment.publicKey, Buffer.from(yaml), deployment.signature)).toBe(true);
  });

  it('attests what is deployed where, as which version, and when', async () => {
    const hub = await aHub();
    const { hash } = await hub.upload('base', yaml);
    const { attestation, sequence } = await hub.deploy('base', 1, 'staging');
    const deployedAt = new Date(hub.clock.now()).toISOString();
    const stated = [hub.tenantId, 'staging', 'base', 1, hash, sequence, deployedAt];
    const text = Buffer.from(`reeve-deployment-v1\n${JSON.stringify(stated)}`);
    expect(hub.secrets.verify(hub.signingKey.publicKey, text, attestation ?? '')).toBe(true);
  });

  it('numbers deployments by the clock, and always above the last one', async () => {
    const hub = await aHub();
    await hub.upload('base', yaml);
    const first = await hub.deploy('base', 1);
    expect((await hub.deploy('base', 1)).sequence).toBe(first.sequence + 1);
    expect((await hub.deploy('base', 1, 'staging')).sequence).toBe(first.sequence);
    hub.clock.advance(60_000);
    expect((await hub.deploy('base', 1)).sequence).toBe(hub.clock.now());
  });

  it('takes the next sequence when another owner deployed between reading and writing', async () => {
    const hub = await aHub({
      wrap: (store) => ({
        ...store,
        deployments: {
          ...store.deployments,
          // Another owner has just deployed at a later time by its own clock.
          getLastSequence: (() => {
            let asked = 0;
            return async (...of) => ((await store.deployments.getLastSequence(...of)) && asked++ ? ahead : 0);
          })(),
        },
      }),
    });
    const ahead = hub.clock.now() + 5000;
    const { hash } = await hub.upload('base', yaml);
    const other = aDeployment({
      tenantId: hub.tenantId,
      revisionHash: hash,
      sequence: ahead,
      signingKeyId: hub.signingKey.id,
    });
    await hub.store.deployments.deploy(other);
    expect((await hub.deploy('base', 1)).sequence).toBe(ahead + 1);
  });

  it('attests what an older version of the hub deployed', async () => {
    const hub = await aHub();
    const { hash } = await hub.upload('base', yaml);
    const older = aDeployment({
      tenantId: hub.tenantId,
      revisionHash: hash,
      sequence: 3,
      signingKeyId: hub.signingKey.id,
      attestation: null,
    });
    await hub.store.deployments.deploy(older);
    await hub.join({ agentId: 'a' });
    hub.clock.advance(1);
    // Nobody is told of it without its attestation.
    const [frame] = await hub.announced();
    expect(frame?.data).toMatchObject({ sequence: 3, attestation: expect.stringMatching(/^[0-9a-f]{128}$/) });
    const deployedAt = new Date(older.createdAt).toISOString();
    const stated = [hub.tenantId, 'production', 'base', 1, hash, 3, deployedAt];
    const current = await hub.store.deployments.getCurrent(hub.tenantId, 'production', 'base');
    const text = Buffer.from(`reeve-deployment-v1\n${JSON.stringify(stated)}`);
    expect(hub.secrets.verify(hub.signingKey.publicKey, text, current?.attestation ?? '')).toBe(true);
    const [told] = (await hub.join({ agentId: 'b', bundleName: 'base' })).catchUp;
    expect(told?.attestation).toBe(current?.attestation);
  });

  it('writes the signature in base64 when told so', async () => {
    const hub = await aHub({ signatureEncoding: 'base64' });
    const { version } = await hub.upload('base', yaml);
    const { signature } = await hub.deploy('base', version);
    const [frame] = await hub.announced();
    expect(Buffer.from(String(frame?.data.signature), 'base64').toString('hex')).toBe(signature);
  });

  it('undeploys, tells dashboards alone, and shows unknown; a late repeat does not bring it back', async () => {
    const hub = await aHub();
    await hub.upload('base', yaml);
    const id = uuid();
    const deployment = await hub.deploy('base', 1, 'production', id);
    await hub.join({ agentId: 'a', bundleName: 'base', policyVersion: deployment.revisionHash });
    await hub.announced();
    const key = environmentKey(hub.tenantId, 'production');
    const body = { bundleName: 'base', undeployedBy: 'ann@example.org' };
    expect(await hub.actors.ask('environment', key, 'undeploy', body)).toEqual(deployment);
    expect(headersOf(await hub.announced())).toEqual(['dashboards bundle_deployed']);
    expect(await hub.actors.ask('environment', key, 'undeploy', body)).toBeNull();
    const { entries } = await hub.actors.ask('environment', key, 'status', allStreams);
    expect(entries).toMatchObject([{ agentId: 'a', status: 'unknown' }]);
    const ended = { ...deployment, undeployedAt: expect.any(Number), undeployedBy: 'ann@example.org' };
    expect(await hub.deploy('base', 1, 'production', id)).toEqual(ended);
    expect((await hub.join({ agentId: 'b', bundleName: 'base' })).catchUp).toEqual([]);
    expect(headersOf(await hub.announced())).toEqual([]);
    expect((await hub.deploy('base', 1)).sequence).toBe(deployment.sequence + 1);
    expect((await hub.join({ agentId: 'c', bundleName: 'base' })).catchUp).toHaveLength(1);
  });

  it('refuses an unknown bundle or version, and announces nothing', async () => {
    const hub = await aHub();
    await hub.upload('base', yaml);
    for (const [name, version] of [
      ['base', 2],
      ['other', 1],
    ] as const) {
      await expect(hub.deploy(name, version)).rejects.toMatchObject({
        code: 'not_found',
        message: `Bundle '${name}' version ${version} not found`,
      });
    }
    expect(await hub.announced()).toEqual([]);
  });

  it('refuses without a signing key', async () => {
    const hub = await aHub({
      wrap: (store) => ({ ...store, signing: { ...store.signing, getActive: async () => null } }),
    });
    const { version } = await hub.upload('base', yaml);
    await expect(hub.deploy('base', version)).rejects.toMatchObject({ code: 'unprocessable' });
  });

  it('signs again when the key was replaced between reading and writing', async () => {
    let old: (() => Promise<unknown>) | null = null;
    const hub = await aHub({
      wrap: (store) => ({
        ...store,
        noting: (noting) => ({
          ...store,
          deployments: {
            ...store.deployments,
            deploy: async (deployment) => {
              await old?.();
              old = null;
              return store.noting(noting).deployments.deploy(deployment);
            },
          },
        }),
      }),
    });
    const { version } = await hub.upload('base', yaml);
    old = () => hub.actors.ask('tenant', hub.tenantId, 'rotateSigningKey', rotation('k2'));
    const deployment = await hub.deploy('base', version);
    expect(deployment.signingKeyId).toBe('k2');
    expect(hub.secrets.verify(deployment.publicKey, Buffer.from(yaml), deployment.signature)).toBe(true);
  });

  it('gives up with unavailable when the key never holds still', async () => {
    const hub = await aHub({
      wrap: (store) => ({
        ...store,
        noting: () => ({ ...store, deployments: { ...store.deployments, deploy: async () => 'stale_key' } }),
      }),
    });
    const { version } = await hub.upload('base', yaml);
    await expect(hub.deploy('base', version)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('of the same id twice is one deployment; a late repeat of an older one is not announced', async () => {
    const hub = await aHub();
    await hub.upload('base', yaml);
    await hub.upload('base', `${yaml}# 2\n`);
    const id = uuid();
    const first = await hub.deploy('base', 1, 'production', id);
    expect(await hub.deploy('base', 1, 'production', id)).toEqual(first);
    await hub.deploy('base', 2);
    await hub.announced();
    expect(await hub.deploy('base', 1, 'production', id)).toEqual(first);
    expect(await hub.announced()).toEqual([]);
    expect((await hub.join({ agentId: 'a', bundleName: 'base' })).catchUp).toMatchObject([{ version: 2 }]);
  });
});

describe('rotating the signing key', () => {
  it('signs every current deployment anew, says so, and announces every deployment again to agents', async () => {
    const hub = await aHub();
    await hub.upload('a', yaml);
    await hub.upload('b', `${yaml}# b\n`);
    for (const [name, env] of [
      ['a', 'production'],
      ['a', 'staging'],
      ['b', 'staging'],
    ] as const) {
      await hub.deploy(name, 1, env);
    }
    await hub.announced();
    hub.clock.advance(1000);
    const reply = await hub.actors.ask('tenant', hub.tenantId, 'rotateSigningKey', rotation('k2'));
    expect(reply).toEqual({
      publicKey: expect.any(String),
      rotatedAt: hub.clock.now(),
      resigned: 3,
      followed: true,
    });
    expect(reply.publicKey).not.toBe(hub.signingKey.publicKey);
    const frames = (await hub.announced()).filter(({ fleet }) => fleet === undefined);
    expect(headersOf(frames).sort()).toEqual([
      'agents/production contract_update',
      'agents/staging contract_update',
      'agents/staging contract_update',
      'dashboards signing_key_rotated',
    ]);
    expect(frames[0]?.data).toEqual({ type: 'signing_key_rotated', public_key: reply.publicKey });
    for (const { data } of frames.slice(1)) {
      const bytes = Buffer.from(String(data.yaml_bytes), 'base64');
      expect(data.public_key).toBe(reply.publicKey);
      expect(hub.secrets.verify(reply.publicKey, bytes, String(data.signature))).toBe(true);
    }
  });

  it('keeps sequence and time of what it signs anew, and attests it by the new key', async () => {
    const hub = await aHub();
    await hub.upload('a', yaml);
    const before = await hub.deploy('a', 1);
    hub.clock.advance(60_000);
    const { publicKey } = await hub.actors.ask('tenant', hub.tenantId, 'rotateSigningKey', rotation('k2'));
    const after = await hub.store.deployments.getCurrent(hub.tenantId, 'production', 'a');
    expect(after).toMatchObject({ id: before.id, sequence: before.sequence, createdAt: before.createdAt });
    const deployedAt = new Date(before.createdAt).toISOString();
    const stated = [hub.tenantId, 'production', 'a', 1, before.revisionHash, before.sequence, deployedAt];
    const text = Buffer.from(`reeve-deployment-v1\n${JSON.stringify(stated)}`);
    expect(hub.secrets.verify(publicKey, text, after?.attestation ?? '')).toBe(true);
  });

  it('tells agents by which right the new key signs: the old one vouches for it', async () => {
    const hub = await aHub();
    await hub.upload('a', yaml);
    await hub.deploy('a', 1);
    const keys = [hub.signingKey.publicKey];
    const times: string[] = [];
    for (const newKeyId of ['k2', 'k3']) {
      hub.clock.advance(1000);
      times.push(new Date(hub.clock.now()).toISOString());
      const reply = await hub.actors.ask('tenant', hub.tenantId, 'rotateSigningKey', rotation(newKeyId));
      keys.push(reply.publicKey);
    }
    const update = (await hub.announced()).filter((f) => f.type === 'contract_update').at(-1);
    const told = update?.data.key_succession as { [name: string]: string }[];
    expect(told.map((s) => [s.previous_key, s.public_key, s.rotated_at])).toEqual([
      [keys[0], keys[1], times[0]],
      [keys[1], keys[2], times[1]],
    ]);
    for (const { previous_key, public_key, rotated_at, signature } of told) {
      const stated = [hub.tenantId, previous_key, public_key, rotated_at];
      const text = Buffer.from(`reeve-key-succession-v1\n${JSON.stringify(stated)}`);
      expect(hub.secrets.verify(previous_key ?? '', text, signature ?? '')).toBe(true);
    }
  });

  it('after a compromise nothing leads from an earlier key to the new one, and the reply says so', async () => {
    const hub = await aHub();
    await hub.upload('a', yaml);
    await hub.deploy('a', 1);
    await hub.actors.ask('tenant', hub.tenantId, 'rotateSigningKey', rotation('k2'));
    const body = rotation('k3', true);
    const reply = await hub.actors.ask('tenant', hub.tenantId, 'rotateSigningKey', body);
    expect(reply.followed).toBe(false);
    const update = (await hub.announced()).filter((f) => f.type === 'contract_update').at(-1);
    expect(update?.data).toMatchObject({ public_key: reply.publicKey, key_succession: [] });
  });

  it('announces many deployments, all of them once', async () => {
    const hub = await aHub();
    for (let i = 0; i < 20; i++) {
      await hub.upload(`b${i}`, `${yaml}# ${i}\n`);
      await hub.deploy(`b${i}`, 1);
    }
    await hub.announced();
    await hub.actors.ask('tenant', hub.tenantId, 'rotateSigningKey', rotation('k2'));
    const bundles = (await hub.announced()).slice(1).map((f) => f.bundle);
    expect([bundles.length, new Set(bundles).size]).toEqual([20, 20]);
  });

  it('with the same id again answers the same and signs nothing anew', async () => {
    const hub = await aHub();
    await hub.upload('a', yaml);
    await hub.deploy('a', 1);
    const rotate = () => hub.actors.ask('tenant', hub.tenantId, 'rotateSigningKey', rotation('k2'));
    const first = await rotate();
    hub.clock.advance(5000);
    expect(await rotate()).toEqual(first);
  });

  it('starts over when a deployment came in between, so that none is left with the old key', async () => {
    let between: (() => Promise<unknown>) | null = null;
    const hub = await aHub({
      wrap: (store) => ({
        ...store,
        noting: (noting) => {
          const stores = store.noting(noting);
          const rotate: typeof stores.signing.rotate = async (...args) => {
            await between?.();
            between = null;
            return stores.signing.rotate(...args);
          };
          return { ...stores, signing: { ...stores.signing, rotate } };
        },
      }),
    });
    await hub.upload('a', yaml);
    await hub.upload('b', yaml);
    await hub.deploy('a', 1);
    between = () => hub.deploy('b', 1);
    const reply = await hub.actors.ask('tenant', hub.tenantId, 'rotateSigningKey', rotation('k2'));
    expect(reply.resigned).toBe(2);
    const current = await hub.store.deployments.listAllCurrent(hub.tenantId);
    expect(current.map((d) => [d.bundleName, d.publicKey])).toEqual([
      ['a', reply.publicKey],
      ['b', reply.publicKey],
    ]);
  });

  it('makes the first key of a tenant that has none', async () => {
    const hub = await aHub();
    const other = uuid();
    const reply = await hub.actors.ask('tenant', other, 'rotateSigningKey', rotation('k1'));
    expect(await hub.store.signing.getActive(other)).toMatchObject({ id: 'k1', publicKey: reply.publicKey });
    expect(reply.resigned).toBe(0);
  });
});
