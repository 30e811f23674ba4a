/** The part of nodemailer that the service uses; the package has no types. */
declare module 'nodemailer' {
  interface SmtpOptions {
    readonly url: string;
    readonly connectionTimeout: number;
    readonly greetingTimeout: number;
    readonly socketTimeout: number;
    readonly requireTLS: boolean;
    readonly disableFileAccess: boolean;
    readonly disableUrlAccess: boolean;
  }
  interface Message {
    readonly from: string;
    readonly to: { readonly name: string; readonly address: string };
    readonly subject: string;
    readonly text: string;
    readonly html: string;
    readonly messageId: string;
    readonly headers: Readonly<Record<string, string>>;
  }
  export function createTransport(options: SmtpOptions): {
    sendMail(message: Message): Promise<unknown>;
    close(): void;
  };
}
