// Tests of the environment variables of every family of launchers, also with mistakes in them.
#include "bootstrap/launch_env.hpp"

#include <map>

#include "test.hpp"

namespace hirgen {
namespace {

using Environment = std::map<std::string, std::string>;

Launch read(const Environment& environment) {
  const Getenv get = [&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  };
  return read_launch(get, "./ag_matmul", 4711);
}

std::string failure(const Environment& environment) {
  const test::Thrown thrown = test::thrown_by([&] { read(environment); });
  HG_EXPECT_EQ(thrown.code, Code::kEnvironment);
  return thrown.message;
}

HG_TEST(torchrun_sets_everything) {
  const Launch launch = read({{"RANK", "3"},
                              {"WORLD_SIZE", "8"},
                              {"LOCAL_RANK", "1"},
                              {"MASTER_ADDR", "node0"},
                              {"MASTER_PORT", "29500"},
                              {"TORCHELASTIC_RUN_ID", "job7"}});
  HG_EXPECT_EQ(launch.rank, 3);
  HG_EXPECT_EQ(launch.world, 8);
  HG_EXPECT_EQ(launch.local_rank, 1);
  HG_EXPECT_EQ(launch.address, "node0");
  HG_EXPECT_EQ(launch.port, 29501);  // torchrun's store uses 29500
  HG_EXPECT_EQ(launch.job, "job7");
}

HG_TEST(the_last_port_has_no_successor) {
  Environment torchrun{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}};
  torchrun["MASTER_PORT"] = "65535";
  HG_EXPECT_EQ(read(torchrun).port, 65534);
}

HG_TEST(open_mpi_on_one_host_meets_at_the_loopback_address) {
  Environment mpi{{"OMPI_COMM_WORLD_RANK", "1"},
                  {"OMPI_COMM_WORLD_SIZE", "4"},
                  {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                  {"PMIX_NAMESPACE", "prterun-a-1@1"}};
  const Launch launch = read(mpi);
  HG_EXPECT_EQ(launch.address, "127.0.0.1");
  HG_EXPECT(launch.port >= 20000 && launch.port < 32000);
  mpi["OMPI_COMM_WORLD_RANK"] = "2";
  HG_EXPECT_EQ(read(mpi).port, launch.port);
  mpi["PMIX_NAMESPACE"] = "prterun-a-2@1";
  HG_EXPECT(read(mpi).port != launch.port);
  // Two nodes, and no variable names the node of rank 0.
  mpi["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  HG_EXPECT_EQ(read(mpi).address, "");
}

HG_TEST(pmi_without_a_job_id_uses_the_parent_in_common) {
  const Launch launch = read(
      {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}});
  HG_EXPECT_EQ(launch.local_rank, 1);
  HG_EXPECT_EQ(launch.address, "127.0.0.1");
  HG_EXPECT(launch.port != 0);
}

HG_TEST(slurm_step_on_several_nodes_meets_at_the_first) {
  Environment slurm{{"SLURM_PROCID", "5"},  {"SLURM_STEP_NUM_TASKS", "8"},
                    {"SLURM_NTASKS", "16"}, {"SLURM_LOCALID", "1"},
                    {"SLURM_JOB_ID", "99"}, {"SLURM_STEP_ID", "2"},
                    {"SLURM_NNODES", "2"},  {"SLURM_STEP_NODELIST", "gpu[03-05,09],login"}};
  const Launch launch = read(slurm);
  HG_EXPECT_EQ(launch.world, 8);
  HG_EXPECT_EQ(launch.address, "gpu03");
  HG_EXPECT_EQ(launch.job, "99.2");
  slurm["SLURM_STEP_NODELIST"] = "alpha,beta[1-2]";
  HG_EXPECT_EQ(read(slurm).address, "alpha");
  slurm["SLURM_STEP_NODELIST"] = "solo";
  HG_EXPECT_EQ(read(slurm).address, "solo");
}

HG_TEST(srun_with_pmi_takes_the_local_rank_from_slurm) {
  const Launch launch = read({{"PMI_RANK", "1"},
                              {"PMI_SIZE", "2"},
                              {"SLURM_PROCID", "1"},
                              {"SLURM_STEP_NUM_TASKS", "2"},
                              {"SLURM_LOCALID", "1"},
                              {"SLURM_NNODES", "1"}});
  HG_EXPECT_EQ(launch.family, "Slurm");
  HG_EXPECT_EQ(launch.local_rank, 1);
}

HG_TEST(explicit_variables_win_over_all) {
  const Launch launch = read({{"HIRGEN_RANK", "1"},
                              {"HIRGEN_WORLD", "2"},
                              {"HIRGEN_LOCAL_RANK", "0"},
                              {"HIRGEN_ADDR", "::1"},
                              {"HIRGEN_PORT", "4000"},
                              {"RANK", "7"},
                              {"WORLD_SIZE", "8"},
                              {"MASTER_PORT", "29500"}});
  HG_EXPECT_EQ(launch.rank, 1);
  HG_EXPECT_EQ(launch.world, 2);
  HG_EXPECT_EQ(launch.address, "::1");
  HG_EXPECT_EQ(launch.port, 4000);
}

HG_TEST(a_launcher_inside_a_slurm_job_is_believed) {
  const Launch launch = read({{"RANK", "9"},
                              {"WORLD_SIZE", "16"},
                              {"LOCAL_RANK", "1"},
                              {"MASTER_ADDR", "a"},
                              {"MASTER_PORT", "1000"},
                              {"SLURM_PROCID", "1"},
                              {"SLURM_STEP_NUM_TASKS", "2"},
                              {"SLURM_LOCALID", "0"}});
  HG_EXPECT_EQ(launch.rank, 9);
}

HG_TEST(nothing_set_shows_the_line_of_every_launcher) {
  const std::string message = failure({});
  for (const char* line :
       {"hirgen run OUT -n 4", "torchrun --nproc-per-node 4 --no-python ./ag_matmul",
        "mpirun -n 4 ./ag_matmul", "mpiexec -n 4 ./ag_matmul", "srun --ntasks=4",
        "HIRGEN_RANK=0 HIRGEN_WORLD=4"}) {
    HG_EXPECT_CONTAINS(message, line);
  }
}

HG_TEST(half_a_family_names_the_missing_variable) {
  HG_EXPECT_CONTAINS(failure({{"RANK", "0"}}), "RANK is set and WORLD_SIZE is not");
  HG_EXPECT_CONTAINS(failure({{"WORLD_SIZE", "2"}}), "WORLD_SIZE is set and RANK is not");
  HG_EXPECT_CONTAINS(failure({{"HIRGEN_WORLD", "2"}, {"RANK", "0"}, {"WORLD_SIZE", "2"}}),
                     "HIRGEN_RANK is not");
  HG_EXPECT_CONTAINS(failure({{"OMPI_COMM_WORLD_RANK", "1"}}), "mpirun -n 4 ./ag_matmul");
  HG_EXPECT_CONTAINS(failure({{"SLURM_NTASKS", "4"}}), "SLURM_PROCID is not set");
  HG_EXPECT_CONTAINS(failure({{"RANK", ""}, {"WORLD_SIZE", "2"}}), "RANK is not");
}

HG_TEST(numbers_must_be_numbers_in_range) {
  HG_EXPECT_CONTAINS(failure({{"RANK", "one"}, {"WORLD_SIZE", "2"}}), "RANK=one is not a number");
  HG_EXPECT_CONTAINS(failure({{"RANK", "1x"}, {"WORLD_SIZE", "2"}}), "RANK=1x is not a number");
  HG_EXPECT_CONTAINS(failure({{"RANK", "0"}, {"WORLD_SIZE", "2.0"}}), "WORLD_SIZE=2.0");
  HG_EXPECT_CONTAINS(failure({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), "RANK=2 is out of range");
  HG_EXPECT_CONTAINS(failure({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}), "RANK=-1 is out of range");
  HG_EXPECT_CONTAINS(failure({{"RANK", "0"}, {"WORLD_SIZE", "0"}}), "WORLD_SIZE=0 is out of range");
  HG_EXPECT_CONTAINS(failure({{"RANK", "0"}, {"WORLD_SIZE", "99999999999999999999"}}),
                     "is not a number");
  HG_EXPECT_CONTAINS(
      failure({{"HIRGEN_RANK", "0"}, {"HIRGEN_WORLD", "2"}, {"HIRGEN_PORT", "70000"}}),
      "HIRGEN_PORT=70000 is out of range");
}

HG_TEST(two_launchers_that_disagree_are_refused) {
  const std::string message = failure({{"RANK", "0"},
                                       {"WORLD_SIZE", "2"},
                                       {"OMPI_COMM_WORLD_RANK", "1"},
                                       {"OMPI_COMM_WORLD_SIZE", "2"}});
  HG_EXPECT_CONTAINS(message, "torchrun says RANK=0 WORLD_SIZE=2");
  HG_EXPECT_CONTAINS(message, "Open MPI says OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2");
}

HG_TEST(a_singleton_of_mpi_under_slurm_is_refused) {
  const std::string message = failure(
      {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}, {"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "8"}});
  HG_EXPECT_CONTAINS(message, "8 tasks");
  HG_EXPECT_CONTAINS(message, "srun --ntasks=4");
}

// The variables that each launcher of docs/launchers.md sets on one node. None of them is an
// address or a port.
HG_TEST(ranks_of_one_host_need_no_address_and_no_port) {
  const std::vector<std::pair<Environment, std::string>> launchers{
      {{{"HIRGEN_WORLD", "2"}, {"HIRGEN_LOCAL_RANK", "0"}}, "HIRGEN_RANK"},
      {{{"HIRGEN_WORLD", "2"}}, "HIRGEN_RANK"},
      {{{"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}}, "RANK"},
      {{{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}},
       "OMPI_COMM_WORLD_RANK"},
      {{{"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}}, "PMI_RANK"},
      {{{"SLURM_NTASKS", "2"}, {"SLURM_LOCALID", "1"}}, "SLURM_PROCID"}};
  for (auto [environment, rank] : launchers) {
    environment[rank] = "0";
    const Launch zero = read(environment);
    environment[rank] = "1";
    const Launch one = read(environment);
    HG_EXPECT_EQ(one.address, "127.0.0.1");
    HG_EXPECT(one.port >= 20000 && one.port == zero.port);
    HG_EXPECT_CONTAINS(one.hint, "HIRGEN_ADDR");
    HG_EXPECT_CONTAINS(one.hint, "HIRGEN_PORT");
  }
}

HG_TEST(all_ranks_of_one_host_meet_at_the_loopback_address) {
  const Environment torchrun{{"RANK", "1"},
                             {"WORLD_SIZE", "2"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "node0"},
                             {"MASTER_PORT", "29500"}};
  HG_EXPECT_EQ(read(torchrun).address, "127.0.0.1");
  HG_EXPECT_EQ(read(torchrun).port, 29501);
  HG_EXPECT_EQ(read(torchrun).hint, "");
  Environment said = torchrun;
  said["HIRGEN_ADDR"] = "node0";
  HG_EXPECT_EQ(read(said).address, "node0");
  Environment two = torchrun;
  two["LOCAL_WORLD_SIZE"] = "1";
  HG_EXPECT_EQ(read(two).address, "node0");
}

HG_TEST(a_secret_is_taken_from_the_user_or_the_launcher) {
  const std::string key = "4a0f9ccb4c13cd0e-6255330fbb0289f9";
  Environment mpi{{"OMPI_COMM_WORLD_RANK", "1"},
                  {"OMPI_COMM_WORLD_SIZE", "4"},
                  {"OMPI_MCA_orte_precondition_transports", key}};
  HG_EXPECT_EQ(read(mpi).secret, key);
  mpi["HIRGEN_JOB_SECRET"] = "mine";
  HG_EXPECT_EQ(read(mpi).secret, "mine");
  mpi["HIRGEN_JOB_SECRET"] = "";
  // This value is derived from the job number, which anyone can guess, so it is not a secret.
  mpi["OMPI_MCA_orte_precondition_transports"] = "012cc14200000000-012cc14200000000";
  HG_EXPECT_EQ(read(mpi).secret, "");
  Environment slurm{{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_LOCALID", "1"},
                    {"SLURM_NNODES", "1"}, {"SLURM_JOB_ID", "99"},        {"SLURM_STEP_ID", "0"}};
  HG_EXPECT_EQ(read(slurm).secret, "");
  slurm["PMI_SHARED_SECRET"] = "1234567890123456789";
  HG_EXPECT_EQ(read(slurm).secret, "1234567890123456789");
  slurm["PMI_RANK"] = "1";
  slurm["PMI_SIZE"] = "2";
  HG_EXPECT_EQ(read(slurm).secret, "1234567890123456789");
  HG_EXPECT_EQ(read({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "job7"}}).secret,
               "");
}

HG_TEST(ranks_without_a_meeting_point_are_refused) {
  ProgramInfo info;
  info.name = "ag_matmul";
  info.mesh_size = 2;
  const Launch launch = read({{"OMPI_COMM_WORLD_RANK", "0"},
                              {"OMPI_COMM_WORLD_SIZE", "2"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}});
  const auto make = [&] { context_options(launch, info, 5); };
  HG_EXPECT_CONTAINS(test::thrown_by(make).message, "HIRGEN_ADDR and HIRGEN_PORT");
  info.mesh_size = 3;
  HG_EXPECT_CONTAINS(test::thrown_by(make).message, "was generated for 3 ranks");
  const Launch alone = read({{"HIRGEN_RANK", "0"}, {"HIRGEN_WORLD", "1"}});
  HG_EXPECT_EQ(context_options(alone, info, 5).world, 1);
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) { return hirgen::test::run_all(argc, argv); }
