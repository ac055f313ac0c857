// Schemas of channels that both APIs share.
import { z } from 'zod';

export const channelConfig = z.record(z.string().max(64), z.unknown());
