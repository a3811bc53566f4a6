// The variables of the launchers that hirgen knows.
#pragma once

namespace hirgen {

// The names of one launcher's variables; null if it has no such variable. world_alternative is read
// if `world` is not set.
struct Family {
  const char* name;
  const char* rank;
  const char* world;
  const char* world_alternative;
  const char* local_rank;
  const char* local_world;  ///< number of ranks on this node
  const char* job;
  const char* secret;  ///< random text, the same on all ranks, readable by their user only
  const char* line;    ///< how to start 4 ranks of %s
};

constexpr const char* kNone = nullptr;

constexpr Family kExplicit = {"HIRGEN_*",
                              "HIRGEN_RANK",
                              "HIRGEN_WORLD",
                              kNone,
                              "HIRGEN_LOCAL_RANK",
                              kNone,
                              "HIRGEN_JOB",
                              kNone,
                              "HIRGEN_RANK=0 HIRGEN_WORLD=4 HIRGEN_LOCAL_RANK=0 "
                              "HIRGEN_ADDR=127.0.0.1 HIRGEN_PORT=23456 %s   (once for each rank)"};

constexpr const char* kSecretVariable = "HIRGEN_JOB_SECRET";
// 64 random bits, set by mpi/cray_shasta of Slurm, PALS and Flux.
constexpr const char* kCraySecret = "PMI_SHARED_SECRET";

// If one launcher starts another and both agree, the first family of this list is used, which is
// the inner launcher's. torchrun has no secret: its run id appears in its output, and often is a
// fixed word.
constexpr Family kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", kNone, "LOCAL_RANK", "LOCAL_WORLD_SIZE",
     "TORCHELASTIC_RUN_ID", kNone, "torchrun --nproc-per-node 4 --no-python %s"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", kNone,
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE",
     "OMPI_MCA_orte_precondition_transports", "mpirun -n 4 %s"},
    {"PMI", "PMI_RANK", "PMI_SIZE", kNone, "MPI_LOCALRANKID", "MPI_LOCALNRANKS", kNone, kCraySecret,
     "mpiexec -n 4 %s"},
};

// Slurm comes last: its variables are also set where another launcher runs inside a job.
constexpr Family kSlurm = {"Slurm",        "SLURM_PROCID",  "SLURM_STEP_NUM_TASKS",
                           "SLURM_NTASKS", "SLURM_LOCALID", kNone,
                           "SLURM_JOB_ID", kCraySecret,     "srun --ntasks=4 --gpus-per-node=4 %s"};

}  // namespace hirgen
