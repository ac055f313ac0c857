// Service accounts and their tokens in MongoDB: one document each. A token without its account is good for nothing, so
// an account goes first and its tokens after it.
import type { Collection } from 'mongodb';
import {
  maxServiceTokens,
  type ServiceAccount,
  type ServiceAccountStore,
  type ServiceToken,
} from '../../src/user/port/service-accounts.ts';
import { unlessTaken } from './failure.ts';
import { fromRow, fromRowOrNull, type Row, toRow } from './form.ts';
import { pageOf } from './page.ts';
import { deleteSome } from './removal.ts';

export type ServiceAccountRow = Row<ServiceAccount>;
export type ServiceTokenRow = Row<ServiceToken>;

const accountOf = async (
  accounts: Collection<ServiceAccountRow>,
  tenantId: string,
  id: string,
): Promise<ServiceAccount | null> =>
  fromRowOrNull<ServiceAccount>(await accounts.findOne({ _id: id, tenantId }));

async function nextExpiries(
  tokens: Collection<ServiceTokenRow>,
  tenantId: string,
  after: number,
): Promise<ReadonlyMap<string, number>> {
  const next = new Map<string, number>();
  const expiring = tokens
    .find({ tenantId, expiresAt: { $gt: after } }, { projection: { accountId: 1, expiresAt: 1 } })
    .sort({ expiresAt: 1 });
  for await (const { accountId, expiresAt } of expiring)
    if (!next.has(accountId)) next.set(accountId, expiresAt);
  return next;
}

export const mongoServiceAccounts = (
  accounts: Collection<ServiceAccountRow>,
  tokens: Collection<ServiceTokenRow>,
): ServiceAccountStore => ({
  async create(account) {
    return (await unlessTaken(accounts.insertOne(toRow(account)))) ? 'created' : 'name_taken';
  },
  list: (tenantId, page) =>
    pageOf(accounts.find({ tenantId }).sort({ name: 1 }), page, (row) => fromRow<ServiceAccount>(row)),
  get: (tenantId, id) => accountOf(accounts, tenantId, id),
  async update(tenantId, id, patch) {
    if (Object.keys(patch).length > 0) {
      const isStored = await unlessTaken(accounts.updateOne({ _id: id, tenantId }, { $set: patch }));
      if (!isStored) return 'name_taken';
    }
    return accountOf(accounts, tenantId, id);
  },
  async remove(tenantId, id) {
    const row = await accounts.findOneAndDelete({ _id: id, tenantId });
    await tokens.deleteMany({ tenantId, accountId: id });
    return fromRowOrNull<ServiceAccount>(row);
  },
  async createToken(token) {
    const { tenantId, accountId } = token;
    if (!(await accountOf(accounts, tenantId, accountId))) return 'absent';
    if ((await tokens.countDocuments({ tenantId, accountId })) >= maxServiceTokens) return 'full';
    await tokens.insertOne(toRow(token));
    return 'created';
  },
  async listTokens(tenantId, accountId) {
    const rows = await tokens.find({ tenantId, accountId }).sort({ createdAt: -1, _id: -1 }).toArray();
    return rows.map((row) => fromRow<ServiceToken>(row));
  },
  getNextExpiries: (tenantId, after) => nextExpiries(tokens, tenantId, after),
  async revokeToken(tenantId, accountId, id) {
    return fromRowOrNull<ServiceToken>(await tokens.findOneAndDelete({ _id: id, tenantId, accountId }));
  },
  async getByHash(hash) {
    const token = fromRowOrNull<ServiceToken>(await tokens.findOne({ hash }));
    const account = token && (await accountOf(accounts, token.tenantId, token.accountId));
    return token && account ? { account, token } : null;
  },
  async used(id, at) {
    await tokens.updateOne({ _id: id }, { $max: { lastUsedAt: at } });
  },
  removeExpiredTokens: (before, limit) => deleteSome(tokens, { expiresAt: { $lt: before } }, { limit }),
});
