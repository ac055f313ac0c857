/** The address of a definition's page in the console. @param baseUrl without a slash at its end */
export const toolLink = (baseUrl: string, id: string): string => `${baseUrl}/dashboard/tools/${id}`;
