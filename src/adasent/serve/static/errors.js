// What was not done, and why: what to show, when to try again, and the status of the answer.

export class ServiceError extends Error {
  constructor(message, retrySeconds = null, status = null) {
    super(message);
    this.retrySeconds = retrySeconds;
    this.status = status;
  }
}
