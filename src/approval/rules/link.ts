/** The address of an approval's page in the console. @param baseUrl without a slash at its end */
export const approvalLink = (baseUrl: string, { id }: { readonly id: string }): string =>
  `${baseUrl}/dashboard/approvals/${id}`;
