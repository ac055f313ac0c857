// Login sessions in SQLite.

import { type LoginStore, maxNetworks } from '../../src/user/port/logins.ts';
import { type Login, loginRecord } from '../../src/user/record.ts';
import type { Database } from './database.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

export const logins = tableOf<Login>(loginRecord);

function createLogin(db: Database, login: Login): void {
  db.run(
    `${logins.insert} ON CONFLICT (token_hash) DO UPDATE SET user_id = excluded.user_id,
       tenant_id = excluded.tenant_id, created_at = excluded.created_at, expires_at = excluded.expires_at,
       last_seen_at = excluded.last_seen_at, network = excluded.network, browser = excluded.browser,
       method = excluded.method, provider_session = excluded.provider_session`,
    logins.values(login),
  );
}

function noteNetwork(db: Database, userId: string, network: string, now: number): void {
  db.run(
    `INSERT INTO sign_ins (user_id, network, last_at) VALUES (?, ?, ?)
       ON CONFLICT (user_id, network) DO UPDATE SET last_at = max(last_at, excluded.last_at)`,
    [userId, network, now],
  );
  db.run(
    `DELETE FROM sign_ins WHERE user_id = ?1 AND network IN
       (SELECT network FROM sign_ins WHERE user_id = ?1 ORDER BY last_at DESC LIMIT -1 OFFSET ?2)`,
    [userId, maxNetworks],
  );
}

export const loginStore = (db: Database): Sync<LoginStore> => ({
  create: (login) => createLogin(db, login),
  get: (tokenHash, now) =>
    logins.maybe(
      db.get(`SELECT ${logins.columns} FROM logins WHERE token_hash = ? AND expires_at > ?`, [
        tokenHash,
        now,
      ]),
    ),
  extend(tokenHash, expiresAt, now) {
    db.run('UPDATE logins SET expires_at = ?, last_seen_at = ? WHERE token_hash = ?', [
      expiresAt,
      now,
      tokenHash,
    ]);
  },
  listOfUser: (userId, now, limit) =>
    db
      .all(
        `SELECT ${logins.columns} FROM logins WHERE user_id = ? AND expires_at > ?
           ORDER BY created_at DESC, rowid DESC LIMIT ?`,
        [userId, now, limit],
      )
      .map(logins.read),
  listOfProviderSession: (session, now, limit) =>
    db
      .all(`SELECT ${logins.columns} FROM logins WHERE provider_session = ? AND expires_at > ? LIMIT ?`, [
        session,
        now,
        limit,
      ])
      .map(logins.read),
  remove(tokenHash) {
    db.run('DELETE FROM logins WHERE token_hash = ?', [tokenHash]);
  },
  removeOfUser(userId, except) {
    db.run('DELETE FROM logins WHERE user_id = ? AND token_hash IS NOT ?', [userId, except ?? null]);
  },
  removeExpired: (now) => db.run('DELETE FROM logins WHERE expires_at <= ?', [now]),
  signedInFrom: (userId, network, now) => noteNetwork(db, userId, network, now),
  hasSignedInFrom: (userId, network, since) =>
    db.get('SELECT 1 FROM sign_ins WHERE user_id = ? AND network = ? AND last_at >= ?', [
      userId,
      network,
      since,
    ]) !== undefined,
  removeNetworks: (before) => db.run('DELETE FROM sign_ins WHERE last_at < ?', [before]),
});
