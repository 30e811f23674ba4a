-- AlterTable
ALTER TABLE "worker_seen" ADD COLUMN     "blocked_from" TIMESTAMPTZ(3);
