// Changes that a database needs once it is an older copy of itself. Keeps promise P24.
import { Database } from './database.ts';

/**
 * Gives every current deployment, and the tool pins of every environment, a sequence that no agent can have seen.
 * Agents then take the deployments and the pins, although they ran newer ones. The hub attests deployments again when
 * it starts.
 * @param now epoch milliseconds; no sequence is above the time of its deployment by more than a few
 * @returns how many there are
 */
export function renumberDeployments(path: string, now: number): number {
  const db = new Database(path);
  try {
    return db.atomically(() => {
      const count = db.run(
        `UPDATE deployments SET sequence = max(sequence + 1, ?), attestation = NULL WHERE is_current = 1`,
        [now],
      );
      db.run(
        `UPDATE deployment_sequences SET last = max(last, (SELECT max(sequence) FROM deployments AS d
           WHERE d.tenant_id = deployment_sequences.tenant_id AND d.env = deployment_sequences.env
             AND d.bundle_name = deployment_sequences.bundle_name))
         WHERE EXISTS (SELECT 1 FROM deployments AS d WHERE d.tenant_id = deployment_sequences.tenant_id
           AND d.env = deployment_sequences.env AND d.bundle_name = deployment_sequences.bundle_name)`,
      );
      db.run('UPDATE tool_environments SET sequence = max(sequence + 1, ?)', [now]);
      return count;
    });
  } finally {
    db.close();
  }
}
