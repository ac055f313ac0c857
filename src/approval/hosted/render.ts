// An approval in the hosted API's words.

import { type Approval, approvalRecord } from '../record.ts';

export const render = (approval: Approval) => approvalRecord.render('hosted', approval);
