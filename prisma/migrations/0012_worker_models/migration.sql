-- AlterTable
ALTER TABLE "worker_seen" ADD COLUMN "models" JSONB NOT NULL DEFAULT '[]';
