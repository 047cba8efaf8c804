// Two workers take jobs until there are none. The program is C++, and counts in C.

#include <cassert>
#include <mutex>
#include <queue>
#include <thread>

#include "counter.h"

class Pool {
    std::mutex lock;
    std::queue<int> jobs;

public:
    void add(int job) {
        std::lock_guard<std::mutex> guard(lock);
        jobs.push(job);
    }

    void work() {
        for (;;) {
            int job;
            {
                std::lock_guard<std::mutex> guard(lock);
                if (jobs.empty()) return;
                job = jobs.front();
                jobs.pop();
            }
            counter_add(job);
        }
    }
};

int main() {
    Pool pool;
    pool.add(1);
    pool.add(2);
    std::thread first(&Pool::work, &pool), second(&Pool::work, &pool);
    first.join();
    second.join();
    assert(counter_value() == 3);
}
